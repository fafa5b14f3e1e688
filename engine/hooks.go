package engine

import (
	"context"
	"encoding/json"
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
		input = nil // a call that cannot be read is denied
	}
	switch r.String("callback_id") {
	case "PreToolUse":
		return p.preToolUse(ctx, input)
	case "PostToolUse":
		return p.postToolUse(input)
	case "PostToolUseFailure":
		return p.postToolUseFailure(input)
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
		s.unreadable(ctx, permission.DoorHook, tool, textOf(input["tool_use_id"]), textOf(input["agent_id"]), raw)
		return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "deny", Reason: "the call could not be read (engine.decode)"})
	}
	if err := p.filterStands(tool); err != nil {
		s.notice("filter", "a command was denied: "+err.Error(), map[string]any{"toolUseID": clip(textOf(input["tool_use_id"]))})
		r := permission.Request{Door: permission.DoorHook, Tool: tool, ToolUseID: textOf(input["tool_use_id"]), AgentID: textOf(input["agent_id"]), Input: raw}
		s.refused(ctx, r, "engine.filter", err.Error())
		return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "deny", Reason: err.Error()})
	}
	s.calls.learn(textOf(input["tool_use_id"]), tool)
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
		if d.InForce() == revision {
			s.memo.Put(r, revision, d)
		}
		return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "ask", Reason: d.Rule, Context: s.heardText(event.SinkModel, d, strings.Join(d.Context, "\n"))})
	}
	rec := record(r, d, "deny", "policy", "")
	rec.Message, rec.Interrupt = s.refusalText(d), d.Effect == permission.Halt || s.tooManyDenials()
	s.denied(ctx, &rec)
	if rec.Interrupt {
		s.work.Go(p.interrupt) // ends with the CLI's answer or its own time limit
	}
	return hookAnswer(preToolUseAnswer{Event: "PreToolUse", Decision: "deny", Reason: rec.Message})
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
