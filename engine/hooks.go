package engine

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// hookCallback answers a callback registered in initialize. An error answer
// would let the call proceed, so every path answers.
func (p *process) hookCallback(ctx context.Context, r control.Request) any {
	var input map[string]json.RawMessage
	if json.Unmarshal(r.Fields["input"], &input) != nil {
		input = nil
	}
	switch r.String("callback_id") {
	case "PreToolUse":
		return p.preToolUse(ctx, input)
	case "PostToolUse":
		return p.postToolUse(ctx, input)
	case "PostToolUseFailure":
		if p.sign(input, "PostToolUseFailure") {
			p.unmetFailure(input)
		}
	case "UserPromptSubmit":
		return p.userPrompt(ctx, input, p.session.judgeSubmitted)
	case "UserPromptExpansion":
		return p.userPrompt(ctx, input, p.session.judgeExpansion)
	}
	return struct{}{}
}

func textOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // no text: empty, which no rule allows
	return s
}

type preToolUseAnswer struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason,omitempty"`
	Context  string `json:"additionalContext,omitempty"`
}

func hookAnswer(a any) any { return map[string]any{"hookSpecificOutput": a} }

// preToolUse is the early door: it denies, or has the CLI ask. It never allows,
// since a hook of others could still change the input.
func (p *process) preToolUse(ctx context.Context, input map[string]json.RawMessage) any {
	s := p.session
	tool, raw := textOf(input["tool_name"]), input["tool_input"]
	if tool == "" || !isObject(raw) {
		s.notice("protocol_error", "a call could not be read (engine.decode); it was denied", map[string]any{"toolUseID": clip(textOf(input["tool_use_id"]))})
		return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "deny", Reason: "the call could not be read (engine.decode)"})
	}
	s.agents.learn(textOf(input["agent_id"]), textOf(input["agent_type"]), "")
	if folder, told := input["cwd"]; told {
		s.folders.at(textOf(input["agent_id"]), textOf(folder))
	} else {
		s.folders.untold(textOf(input["agent_id"]))
	}
	r := s.request(permission.DoorHook, tool, textOf(input["tool_use_id"]), textOf(input["agent_id"]), "", raw)
	revision := s.engine.chain.Revision() // read first: a decision must never be kept for policies that came after it
	d := s.judge(ctx, r)
	if d.Effect < permission.Deny {
		s.memo.Put(r, revision, d)
		return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "ask", Reason: d.Rule, Context: strings.Join(d.Context, "\n")})
	}
	rec := record(r, d, "deny", "policy", "")
	rec.Message, rec.Interrupt = d.Message(), d.Effect == permission.Halt || s.tooManyDenials()
	s.append(event.PermissionResult, rec)
	if rec.Interrupt {
		s.work.Go(p.interrupt) // ends with the CLI's answer or its own time limit
	}
	return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "deny", Reason: rec.Message})
}

// sign reports to the tripwire that a call ran.
func (p *process) sign(input map[string]json.RawMessage, name string) bool {
	id := textOf(input["tool_use_id"])
	if p.session.trip.hook(id) {
		return true
	}
	p.unmediated(name, id)
	return false
}

// postToolUse covers secrets in a tool's output before the model reads it. The
// answer keeps the shape of the output, which the CLI insists on.
func (p *process) postToolUse(ctx context.Context, input map[string]json.RawMessage) any {
	output := input["tool_response"]
	if !p.sign(input, "PostToolUse") {
		return p.replaceOutput(input, withheldShape(output))
	}
	covered, ok := p.session.cover(ctx, output)
	if !ok {
		covered = withheldShape(output)
	}
	covered, changed := p.meet(input, covered)
	if ok && !changed && string(covered) == string(output) {
		return struct{}{}
	}
	return p.replaceOutput(input, covered)
}

func (p *process) replaceOutput(input map[string]json.RawMessage, output json.RawMessage) any {
	key := "updatedToolOutput"
	if strings.HasPrefix(textOf(input["tool_name"]), "mcp__") {
		key = "updatedMCPToolOutput"
	}
	return hookAnswer(map[string]any{"hookEventName": "PostToolUse", key: output})
}

// cover runs the redactors over a tool's output; false when one of them failed.
func (s *Session) cover(ctx context.Context, output json.RawMessage) (json.RawMessage, bool) {
	wrapped, err := json.Marshal(map[string]json.RawMessage{"output": output})
	if err != nil || len(output) == 0 {
		return output, err == nil
	}
	var back map[string]json.RawMessage
	redacted, _, ok := s.log.Redact(ctx, event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Data: wrapped})
	if !ok || json.Unmarshal(redacted, &back) != nil || back["output"] == nil {
		return nil, false
	}
	if sameJSON(back["output"], wrapped) {
		return output, true
	}
	return back["output"], true
}

// sameJSON reports whether part stands unchanged inside wrapped.
func sameJSON(part, wrapped json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(wrapped, &m) == nil && string(m["output"]) == string(part)
}

// shapeWord is what a shape's name looks like: too short for a secret.
var shapeWord = regexp.MustCompile(`^[a-z_]{1,20}$`)

// withheldShape is output with every text replaced.
func withheldShape(output json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(output, &v) != nil {
		return json.RawMessage(`"[withheld]"`)
	}
	b, err := json.Marshal(withhold(v))
	if err != nil {
		return json.RawMessage(`"[withheld]"`)
	}
	return b
}

func withhold(v any) any {
	switch v := v.(type) {
	case string:
		return "[withheld]"
	case []any:
		for i := range v {
			v[i] = withhold(v[i])
		}
	case map[string]any:
		for k := range v {
			if word, ok := v[k].(string); k == "type" && ok && shapeWord.MatchString(word) {
				continue // the CLI tells shapes apart by it
			}
			v[k] = withhold(v[k])
		}
	}
	return v
}

// userPrompt sees what the CLI is about to send or to expand, and stops what
// mentions files that may not be read.
func (p *process) userPrompt(ctx context.Context, input map[string]json.RawMessage, judge func(context.Context, map[string]json.RawMessage) error) any {
	if err := judge(ctx, input); err != nil {
		p.session.notice("prompt_blocked", err.Error(), nil)
		return map[string]any{"decision": "block", "reason": err.Error()}
	}
	return struct{}{}
}

func (s *Session) judgeSubmitted(ctx context.Context, input map[string]json.RawMessage) error {
	return s.judgeMentions(ctx, textOf(input["prompt"]))
}
