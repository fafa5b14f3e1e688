package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// Bounds of the examples in METADATA.
const (
	maxExamples  = 50 // of one rule
	examplesTime = 5 * time.Second
)

// exampleFields are the members of an example that is no shell command.
var exampleFields = []string{"tool", "input"}

// exampleKeys are the members of custom that hold examples.
var exampleKeys = []string{"match", "not_match"}

// checkExamples holds the examples of a layer's rules against that layer alone.
// They are calls in a working folder that is not there: /workspace/project in the
// root /workspace, in mode default, without lists of the caller.
func (s *Set) checkExamples(ctx context.Context, l *layer) error {
	ctx, cancel := context.WithTimeout(ctx, examplesTime)
	defer cancel()
	var errs ast.Errors
	for _, src := range l.sources {
		m, err := parse(src, capabilities())
		if err != nil || m == nil {
			continue // it was parsed before
		}
		for _, r := range m.Rules {
			for _, a := range r.Annotations {
				errs = append(errs, s.examplesOf(ctx, l, m, r, a)...)
			}
		}
	}
	return readable(some(errs), l.sources...)
}

func (s *Set) examplesOf(ctx context.Context, l *layer, m *ast.Module, r *ast.Rule, a *ast.Annotations) (errs ast.Errors) {
	at, n := a.Location, 0
	for _, key := range sortedKeys(a.Custom) {
		if !slices.Contains(exampleKeys, key) {
			if strings.Contains(key, "match") {
				errs = append(errs, flaw(at, "METADATA custom.%s: unknown, the nearest is %s", key, nearest(key, exampleKeys)))
			}
			continue
		}
		list, ok := a.Custom[key].([]any)
		if n += len(list); !ok || n > maxExamples {
			return append(errs, flaw(at, "METADATA custom.%s: want a list of at most %d examples", key, maxExamples))
		}
		object := decisionLiteral(r)
		if object == nil || literalText(object, "rule") == "" || packageName(m) != permissionPackage {
			return append(errs, flaw(at, "METADATA custom.%s: examples belong to a rule of %s.decisions whose id is written out", key, permissionPackage))
		}
		for _, example := range list {
			if err := s.example(ctx, l, literalText(object, "rule"), example, key == "match"); err != nil {
				errs = append(errs, flaw(at, "METADATA custom.%s: %s", key, err))
			}
		}
	}
	return errs
}

// example judges one example: a shell command, or an object of tool and input.
func (s *Set) example(ctx context.Context, l *layer, rule string, example any, want bool) error {
	r, shown, err := exampleCall(example)
	if err != nil {
		return err
	}
	object, err := decodeInput(r.Input)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	verdicts, failure := s.layer(ctx, l, EntryPermission, toTerm(s.describe(r, object)).Value, nil, nil)
	if failure != nil {
		return fmt.Errorf("%s: %s: %s", shown, failure.Rule, strings.Join(append([]string{failure.Reason}, failure.Diagnostics...), ": "))
	}
	got := slices.ContainsFunc(verdicts, func(v verdict) bool { return v.Rule == rule })
	if got == want {
		return nil
	}
	said := "nothing"
	if len(verdicts) > 0 {
		said = strings.Join(compose(verdicts).Rules, ", ")
	}
	if want {
		return fmt.Errorf("rule %s does not match %s; decided was %s", rule, shown, said)
	}
	return fmt.Errorf("rule %s matches %s; decided was %s", rule, shown, said)
}

// exampleCall makes the call of an example, and how a message shows it.
func exampleCall(example any) (permission.Request, string, error) {
	tool, input := "Bash", any(nil)
	switch e := example.(type) {
	case string:
		input = map[string]any{"command": e}
	case map[string]any:
		for name := range e {
			if !slices.Contains(exampleFields, name) {
				return permission.Request{}, "", fmt.Errorf("example field %q: unknown, want tool and input", name)
			}
		}
		tool, _ = e["tool"].(string)
		input = e["input"]
	}
	if _, ok := input.(map[string]any); !ok || tool == "" {
		return permission.Request{}, "", fmt.Errorf("example %.80q: want a shell command or {\"tool\": …, \"input\": {…}}", fmt.Sprint(example))
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return permission.Request{}, "", fmt.Errorf("example of tool %s: %w", tool, err)
	}
	root, err := filepath.Abs("/workspace")
	if err != nil {
		return permission.Request{}, "", err
	}
	shown := fmt.Sprintf("%s %.200s", tool, raw)
	if text, ok := example.(string); ok {
		shown = fmt.Sprintf("%.200q", text)
	}
	return permission.Request{
		SessionID: "example", Door: permission.DoorAsk, ToolUseID: "example", Tool: tool, Input: raw,
		Session: permission.Session{Cwd: filepath.Join(root, "project"), Roots: []string{root}, Mode: "default"},
	}, shown, nil
}
