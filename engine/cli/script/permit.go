package script

import (
	"errors"
	"fmt"
	"slices"
)

// Texts of refused calls.
const (
	textRejected    = "The tool use was rejected."
	textRefused     = "The call was refused."
	textInterrupted = "[Request interrupted by user for tool use]"
)

var (
	errHookStopped   = errors.New("stopped by a hook")
	errDenyInterrupt = errors.New("denied and interrupted")
)

// refusal says how a call was refused; nil means that it runs.
type refusal struct {
	text      string
	uncounted bool // not in permission_denials
	interrupt bool // the turn ends
}

// mediate takes a call through hooks, rules and can_use_tool.
func (p *process) mediate(a *actor, c *call) (*refusal, error) {
	if p.opt.hidden(c.tool.Name) || p.unlisted(c) {
		c.announce()
		return &refusal{text: fmt.Sprintf("No such tool available: %s.", c.tool.Name), uncounted: true}, nil
	}
	if err := checkInput(c.tool.Name, c.input); err != nil {
		c.announce()
		return &refusal{text: "InputValidationError: " + err.Error(), uncounted: true}, nil
	}
	decision, reason, no, err := p.preToolUse(a, c)
	if no != nil || err != nil {
		return no, err
	}
	way := p.route(c, decision)
	switch {
	case way.deny:
		if way.frame {
			p.system("permission_denied", map[string]any{
				"tool_name": c.tool.Name, "tool_use_id": c.id, "decision_reason_type": "rule", "message": way.text,
			})
		}
		return &refusal{text: way.text}, nil
	case !way.ask || p.sc.NoAsk:
		return nil, nil
	case p.opt.get("--permission-prompt-tool") != "stdio":
		return &refusal{text: "Nobody can be asked for permission to use " + c.tool.Name + "."}, nil
	}
	return p.canUseTool(a, c, way, reason)
}

// preToolUse asks the hooks. Of several answers deny counts before ask before allow.
func (p *process) preToolUse(a *actor, c *call) (decision, reason string, no *refusal, err error) {
	outs, err := p.fire(a, event{
		name: "PreToolUse", target: c.tool.Name, toolUseID: c.id, sent: c.announce, opened: c.opened,
		fields: map[string]any{"tool_name": c.tool.Name, "tool_input": c.input},
	})
	if err != nil {
		return "", "", nil, err
	}
	rank := []string{"", "allow", "ask", "deny"}
	for _, o := range outs {
		if o.refused {
			return "", "", &refusal{text: textRefused, uncounted: true}, nil
		}
		d, why := "", o.Reason
		if o.Specific != nil {
			d, why = o.Specific.Decision, o.Specific.Reason
			if o.Specific.Input != nil {
				c.input = o.Specific.Input
			}
		}
		if o.Decision == "block" {
			d, why = "deny", o.Reason
		}
		if slices.Index(rank, d) > slices.Index(rank, decision) {
			decision, reason = d, why
		}
		c.stop = c.stop || o.Continue != nil && !*o.Continue
	}
	if decision == "deny" {
		return decision, reason, &refusal{text: reason}, nil
	}
	if err := checkInput(c.tool.Name, c.input); err != nil {
		return "", "", &refusal{text: "InputValidationError: " + err.Error()}, nil
	}
	return decision, reason, nil, nil
}

// checkInput stands for the tools' input schemas: the one field policies need.
func checkInput(tool string, input map[string]any) error {
	field := map[string]string{
		"Bash": "command", "Read": "file_path", "Write": "file_path", "Edit": "file_path", "WebFetch": "url",
	}[tool]
	if field == "" {
		return nil
	}
	if _, ok := input[field].(string); !ok {
		return fmt.Errorf("%s: %s is not a string", tool, field)
	}
	return nil
}

// way is what rules and modes make of a call.
type way struct {
	ask, deny bool
	frame     bool   // announced with system/permission_denied
	text      string // why denied
	kind      string // decision_reason_type; empty: absent, with suggestions
}

func (p *process) route(c *call, decision string) way {
	p.mu.Lock()
	defer p.mu.Unlock()
	denied := fmt.Sprintf("Permission to use %s has been denied.", c.tool.Name)
	switch {
	case p.covered(c, "deny", p.opt.rules("--disallowedTools")):
		return way{deny: true, frame: true, text: denied}
	case decision == "ask":
		return way{ask: true, kind: "hook"}
	case p.covered(c, "ask", nil):
		return way{ask: p.mode != "dontAsk", deny: p.mode == "dontAsk", frame: true, text: denied, kind: "rule"}
	case c.interactive():
		return way{ask: p.mode != "dontAsk", deny: p.mode == "dontAsk", frame: true, text: denied, kind: "other"}
	case decision == "allow", p.mode == "bypassPermissions", p.mode == "acceptEdits" && c.edits(),
		p.covered(c, "allow", append(p.opt.rules("--allowedTools"), p.allowed...)),
		readOnly(c.tool.Name, c.input):
		return way{}
	case p.mode == "dontAsk":
		return way{deny: true, frame: true, text: denied}
	}
	return way{ask: true}
}

// covered reports whether a rule of the settings or of more matches.
func (p *process) covered(c *call, list string, more []string) bool {
	permissions, _ := p.settings["permissions"].(map[string]any)
	rules, _ := permissions[list].([]any)
	for _, r := range rules {
		if s, ok := r.(string); ok {
			more = append(more, s)
		}
	}
	return slices.ContainsFunc(more, func(r string) bool { return matchRule(r, c.tool.Name, c.input) })
}

func (c *call) interactive() bool {
	return c.tool.Name == "AskUserQuestion" || c.tool.Name == "ExitPlanMode"
}

func (c *call) edits() bool {
	return c.tool.Name == "Edit" || c.tool.Name == "Write" || c.tool.Name == "NotebookEdit"
}
