package engine

import (
	"bytes"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// The CLI hands the error of a failed call to the model as it is: what a hook
// answers changes nothing (CLI 2.1.197). So a secret in it can only be told of,
// or the session be ended before the model reads it. What a tool in this process
// fails with is covered before the CLI has it.

// Exposure says what happens when a failed call is about to hand the model a secret.
type Exposure string

// The choices of Options.OnExposedSecret.
const (
	ReportExposed Exposure = "report" // a notice, a warning in the log and the taint "secret:exposed"
	StopExposed   Exposure = "stop"   // the same, and the session ends for good before the model reads on
)

// taintExposed tells policies that the model may have read a secret.
const taintExposed = "secret:exposed"

// postToolUseFailure looks at what a failed call hands to the model.
func (p *process) postToolUseFailure(input map[string]json.RawMessage) any {
	if !p.sign(input, "PostToolUseFailure") {
		return struct{}{}
	}
	p.session.coverSpilled(textOf(input["tool_name"]), input)
	if p.governing.settled.take(textOf(input["tool_name"]), textOf(input["tool_use_id"])) { // it was covered, and changed as was wanted, where it was made
		p.session.duties.end(textOf(input["agent_id"]), textOf(input["tool_use_id"]))
		return struct{}{}
	}
	p.unmetFailure(input)
	if found, exposed := p.session.exposes(input); exposed {
		p.exposed(input, found)
	}
	return struct{}{}
}

// exposes reports whether the error of a failed call holds what would have been
// covered; one that could not be looked at counts too.
func (s *Session) exposes(input map[string]json.RawMessage) ([]event.Redaction, bool) {
	text := input["error"]
	if len(text) == 0 {
		return nil, false
	}
	covered, found, ok := s.log.Redact(s.untilDone(), event.Payload{
		Sink: event.SinkModel, Kind: event.ToolResult, Tool: textOf(input["tool_name"]), IsError: true, Data: text,
	})
	if !ok {
		return nil, true
	}
	return found, !bytes.Equal(covered, text) && !sameValue(covered, text)
}

// exposed tells of a secret in the error of a failed call, or ends the session.
// The CLI waits for the hook's answer before it goes on, so the model has read
// nothing as long as there is none.
func (p *process) exposed(input map[string]json.RawMessage, found []event.Redaction) {
	s, tool, id := p.session, textOf(input["tool_name"]), textOf(input["tool_use_id"])
	stops := s.engine.o.OnExposedSecret == StopExposed
	if stops {
		p.kill()
	}
	message := "a call failed with a secret in its error, which the CLI hands to the model as it is; policies see the taint " + taintExposed
	if stops {
		message = "a call failed with a secret in its error; the session was ended before the model could read it ([redaction] on_exposed)"
	}
	for i := range found {
		found[i].Pointer = "/error" + found[i].Pointer
	}
	s.mark(taintExposed)
	s.notice("secret_exposed", message, map[string]any{"toolName": tool, "toolUseID": id, "redactions": found})
	s.engine.log.Warn("secret in the error of a failed call", "session", s.id, "tool", s.forLog(tool), "tool_use_id", s.forLog(id), "stopped", stops)
	if stops {
		s.cancel("a failed call would have shown the model a secret (on_exposed = \"stop\")", "redaction")
	}
}

// kill ends the process at once: asked to stop, it would first go on with its turn.
func (p *process) kill() {
	p.session.mu.Lock()
	p.stopping, p.halted = true, true
	p.session.mu.Unlock()
	p.cli.Kill()
}
