package mcpserver

import (
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// noisy are the progress types minimal mode leaves out: they come many times a
// second or minute and say only that something still goes on.
var noisy = map[string]bool{
	"tool_progress": true, "task_progress": true, "auth_status": true, "hook_started": true,
	"hook_progress": true, "hook_response": true, "thinking_tokens": true, "unknown": true,
}

// shape returns the event as the reader gets it; ok is false for one that he
// does not see. The payload was redacted when it was stored: this only makes it
// smaller.
func (o options) shape(e event.Event) (_ event.Event, ok bool) {
	if len(e.Data) == 0 || isNull(e.Data) {
		e.Data = json.RawMessage("{}")
	}
	if o.full && e.Type != event.Result && e.Type != event.Error {
		return e, true
	}
	switch e.Type {
	case event.Progress:
		return e, !noisy[typeOf(e.Data)]
	case event.Output:
		e.Data = slimMessage(e.Data)
	case event.Result, event.Error:
		e.Data = without(e.Data, o.hidden()...)
	}
	return e, true
}

// hidden names the parts of a result that were not asked for.
func (o options) hidden() (names []string) {
	for name, wanted := range map[string]bool{
		"usage": o.usage, "modelUsage": o.modelUsage, "structuredOutput": o.structuredOutput,
	} {
		if !wanted {
			names = append(names, name)
		}
	}
	return names
}

func typeOf(data json.RawMessage) string {
	var t struct{ Type string }
	_ = json.Unmarshal(data, &t) // no type: not noisy
	return t.Type
}

// without removes members of an object; anything else is returned as it is.
func without(data json.RawMessage, names ...string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return data
	}
	before := len(fields)
	for _, name := range names {
		delete(fields, name)
	}
	if len(fields) == before {
		return data
	}
	return remarshal(fields, data)
}

func remarshal(v any, otherwise json.RawMessage) json.RawMessage {
	b, err := encode(v)
	if err != nil {
		return otherwise
	}
	return b
}
