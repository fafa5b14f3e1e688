package engine

import (
	"bytes"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// sign reports to the tripwire that a call ran.
func (p *process) sign(input map[string]json.RawMessage, name string) bool {
	id := textOf(input["tool_use_id"])
	if p.session.trip.hook(id) {
		return true
	}
	p.unmediated(name, id)
	return false
}

// postToolUse covers secrets in a tool's output before the model reads it, and in
// what the CLI has put aside of it.
func (p *process) postToolUse(input map[string]json.RawMessage) any {
	s, tool, output := p.session, textOf(input["tool_name"]), input["tool_response"]
	signed := p.sign(input, "PostToolUse")
	p.governing.settled.take(tool, textOf(input["tool_use_id"])) // it may count as a success here
	s.coverSpilled(tool, input)
	if !signed {
		return replaceOutput(tool, withheldOutput(tool, output))
	}
	covered := p.meet(input, output)
	if bytes.Equal(covered, output) {
		return struct{}{}
	}
	return replaceOutput(tool, covered)
}

// replaceOutput answers the hook. Tools of MCP servers have a member of their own,
// which counts where the common one does not; in it the CLI takes an empty text
// for none, and would pass the original (CLI 2.1.197).
func replaceOutput(tool string, output json.RawMessage) any {
	answer := map[string]any{"hookEventName": "PostToolUse", "updatedToolOutput": output}
	if isMCP(tool) {
		answer["updatedMCPToolOutput"] = output
	}
	return hookAnswer(answer)
}

// cover runs the redactors over a tool's output and keeps its shape. When they
// fail, or what they leave has another shape, all of it is withheld. plugins are
// those that have to see it.
func (s *Session) cover(tool, toolUse string, output json.RawMessage, plugins []string) json.RawMessage {
	if len(output) == 0 {
		return output
	}
	given := withoutHalf(tool, output)
	ctx := event.WithDemand(s.untilDone(), plugins...)
	covered, found, ok := s.log.Redact(ctx, event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: tool, Data: given})
	s.duties.hide(toolUse, found)
	if ok && bytes.Equal(covered, output) {
		return output
	}
	if ok {
		covered, ok = keepShape(tool, output, covered)
	}
	if !ok {
		return withheldOutput(tool, output)
	}
	return covered
}
