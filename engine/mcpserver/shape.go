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

// slimMessage keeps role, content and stop_reason of an assistant message, and
// of content what can be read. What does not look like one is left alone.
func slimMessage(data json.RawMessage) json.RawMessage {
	var fields, message map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || json.Unmarshal(fields["message"], &message) != nil || message == nil {
		return data
	}
	slim := map[string]json.RawMessage{}
	for _, name := range []string{"role", "content", "stop_reason"} {
		if v, ok := message[name]; ok {
			slim[name] = v
		}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(slim["content"], &blocks) == nil && blocks != nil {
		for i, b := range blocks {
			// The order stays, so redaction pointers still fit. A signature is
			// kilobytes of proof that only the API can check.
			blocks[i] = without(b, "cache_control", "signature")
		}
		slim["content"] = remarshal(blocks, slim["content"])
	}
	fields["message"] = remarshal(slim, fields["message"])
	return remarshal(fields, data)
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
