package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// DeciderFunc is a function as a [Decider]. A decision without a Rule has
// [permission.FuncRule].
type DeciderFunc func(ctx context.Context, r Request) (permission.Decision, error)

var _ Decider = DeciderFunc(nil)

// Admit implements [Decider].
func (f DeciderFunc) Admit(ctx context.Context, r Request) (permission.Decision, error) {
	d, err := f(ctx, r)
	d.Rule = cmp.Or(d.Rule, permission.FuncRule)
	return d, err
}

// allowRule is the rule of what [Allow] decides.
const allowRule = "go.allow"

// Allow admits these actions and denies all others. It is for programs whose own
// code fills in what a session is started with: of the parameters it looks at the
// folders only, which have to lie in the roots. McpServer admits servers of this
// process, never those of the owner's or a repository's settings. Where callers
// choose the parameters, a policy is needed (package policy has one).
func Allow(actions ...Action) Decider {
	actions = slices.Clone(actions)
	return DeciderFunc(func(_ context.Context, r Request) (permission.Decision, error) {
		if why := allowRefuses(actions, r); why != "" {
			return permission.Decision{Effect: permission.Deny, Rule: allowRule, Reason: why}, nil
		}
		return permission.Decision{Effect: permission.Allow, Rule: allowRule}, nil
	})
}

// allowRefuses says why a request is refused, empty for one that is not.
func allowRefuses(actions []Action, r Request) string {
	if !slices.Contains(actions, r.Action) {
		return fmt.Sprintf("action %s is not among those that admission.Allow was given", r.Action)
	}
	switch r.Action {
	case Start, Fork, Resume:
		if !r.CwdInsideRoots {
			return fmt.Sprintf("cwd %q lies in no root (engine.Options.Roots)", r.Cwd)
		}
	case McpServer:
		if r.Server.Source != "gatehouse" && r.Server.Source != "plugin" {
			return fmt.Sprintf("MCP server %q is not of this process but of the settings (%s)", r.Server.Name, r.Server.Source)
		}
	}
	for _, d := range r.AdditionalDirs {
		if !d.Inside {
			return fmt.Sprintf("further folder %q lies in no root (engine.Options.Roots)", d.Path)
		}
	}
	return ""
}
