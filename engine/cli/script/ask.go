package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// permission is an answer to can_use_tool.
type permission struct {
	Behavior  string          `json:"behavior"`
	Input     map[string]any  `json:"updatedInput"`
	Message   *string         `json:"message"`
	Interrupt bool            `json:"interrupt"`
	Updates   json.RawMessage `json:"updatedPermissions"`
}

// canUseTool asks the host. Whatever is not a valid allow denies.
func (p *process) canUseTool(a *actor, c *call, w way, reason string) (*refusal, error) {
	in := inquiry{request: p.permissionRequest(a, c, w, reason)}
	in.sent = c.opened
	if d := c.tool.Die; d != nil {
		in.sent = func() { p.fail(d.Code, d.Stderr) }
	}
	if wd := c.tool.Withdraw; wd != nil {
		in.lapse, in.timeout = errWithdrawn, time.Duration(wd.AfterMS)*time.Millisecond
		if in.timeout == 0 {
			in.timeout = -1
		}
	}
	c.asking = true
	ans, err := p.ask(a, in)
	if err != nil {
		return nil, err
	}
	c.asking = false
	if ans.err == errWithdrawn {
		if c.tool.Withdraw.Run {
			return nil, nil
		}
		return &refusal{text: textRefused}, nil
	}
	answer, err := parsePermission(ans)
	if err != nil {
		return &refusal{text: "Tool permission request failed: " + err.Error()}, nil
	}
	if answer.Behavior == "deny" {
		return &refusal{text: *answer.Message, interrupt: answer.Interrupt}, nil
	}
	c.input = answer.Input
	p.update(answer.Updates)
	return nil, nil
}

func parsePermission(ans answer) (permission, error) {
	var pm permission
	if ans.err != nil {
		return pm, cliError("Error: " + ans.err.Error())
	}
	err := json.Unmarshal(ans.body, &pm)
	switch {
	case err != nil:
		return pm, cliError("ZodError: " + err.Error())
	case pm.Behavior == "allow" && pm.Input == nil:
		return pm, cliError("ZodError: allow: updatedInput: expected record, received undefined")
	case pm.Behavior == "deny" && pm.Message == nil:
		return pm, cliError("ZodError: deny: message: expected string, received undefined")
	case pm.Behavior != "allow" && pm.Behavior != "deny":
		return pm, cliError(fmt.Sprintf("ZodError: behavior: %q is neither allow nor deny", pm.Behavior))
	}
	return pm, nil
}

func (p *process) permissionRequest(a *actor, c *call, w way, reason string) map[string]any {
	name := c.tool.Name
	display := name
	if i := strings.LastIndex(name, "__"); i >= 0 && i+2 < len(name) {
		display = strings.ToUpper(name[i+2:i+3]) + name[i+3:]
	}
	req := map[string]any{
		"subtype": "can_use_tool", "tool_name": name, "display_name": display, "input": c.input, "tool_use_id": c.id,
	}
	for _, key := range []string{"command", "description"} {
		if s, ok := c.input[key].(string); ok {
			req["description"] = s
		}
	}
	if w.kind != "" && w.kind != "other" {
		req["decision_reason_type"] = w.kind
	}
	if w.kind == "hook" && reason != "" {
		req["decision_reason"] = reason
	}
	if w.kind == "" {
		req["permission_suggestions"] = []any{map[string]any{
			"type": "addRules", "rules": []any{map[string]any{"toolName": name}}, "behavior": "allow", "destination": "localSettings"}}
	}
	if s, _ := p.splitTool(name); s != nil && p.newer() {
		req["mcp_server"] = map[string]any{"name": s.name, "source": "sdk"}
	}
	if a.agentID != "" {
		req["agent_id"] = a.agentID
	}
	return req
}

// update applies the updatedPermissions of an allow to this session.
func (p *process) update(raw json.RawMessage) {
	var updates []struct {
		Type     string `json:"type"`
		Mode     string `json:"mode"`
		Behavior string `json:"behavior"`
		Rules    []struct {
			Tool    string `json:"toolName"`
			Content string `json:"ruleContent"`
		} `json:"rules"`
	}
	_ = json.Unmarshal(raw, &updates) // absent or odd: nothing to apply
	for _, u := range updates {
		p.mu.Lock()
		if u.Type == "setMode" {
			p.mode = u.Mode
		}
		for _, r := range u.Rules {
			rule := r.Tool
			if r.Content != "" {
				rule += "(" + r.Content + ")"
			}
			if u.Type == "addRules" && u.Behavior == "allow" {
				p.allowed = append(p.allowed, rule)
			}
		}
		p.mu.Unlock()
		if u.Type == "setMode" {
			p.sendStatus(u.Mode)
		}
	}
}
