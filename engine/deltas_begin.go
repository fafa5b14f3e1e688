package engine

import (
	"encoding/json"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

var null = json.RawMessage("null")

// beginning is the block as redactors are told of it; nothing when its kind was
// not told.
func (b block) beginning() json.RawMessage {
	if b.kind == "" {
		return nil
	}
	content := map[string]string{"type": b.kind}
	if b.tool != "" {
		content["name"] = b.tool
	}
	raw, err := json.Marshal(map[string]any{"event": map[string]any{"content_block": content}})
	if err != nil {
		return nil
	}
	return raw
}

// rejoined encodes the members of an object again; otherwise is for none.
func rejoined(members map[string]json.RawMessage, otherwise json.RawMessage) json.RawMessage {
	if members == nil {
		return otherwise
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return otherwise
	}
	return raw
}

// pointing gives what was found in a text the place where the text stands.
func pointing(found []event.Redaction, pointer string) []event.Redaction {
	found = slices.Clone(found)
	for i := range found {
		found[i].Pointer = pointer
	}
	return found
}

// newDeltas are the deltas of a process.
func (p *process) newDeltas() deltas {
	s := p.session
	sort := event.Payload{Sink: event.SinkEvent, Kind: event.Partial}
	return deltas{
		begin: func(b block) (event.Stream, error) {
			of := sort
			of.Tool, of.Data = b.tool, b.beginning()
			return s.log.Stream(s.untilDone(), of)
		},
		store: func(raw, parent json.RawMessage, tool string, found []event.Redaction) {
			fields := map[string]json.RawMessage{"event": raw}
			if len(parent) > 0 {
				fields["parent_tool_use_id"] = parent
			}
			of := sort
			of.Tool, of.Data = tool, picked("", fields, []string{"event", "parent_tool_use_id"})
			s.noteRedactions(s.log.Add(s.untilDone(), of, found...))
		},
		tell: func(message string) { s.notice("limit", message, nil) },
	}
}
