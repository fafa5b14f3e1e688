package mpmserver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// messageOfEvent is an event as the CLI writes it on a line of its stream-json
// output; what is our own is {"type": "gatehouse", "subtype", "session_id", "data"}.
// It is one line of JSON whatever the event holds.
func messageOfEvent(e event.Event, session string) json.RawMessage {
	data := compact(e.Data)
	fields := membersOf(data)
	kind := stringOf(fields["type"])
	switch {
	case e.Type == event.Output && kind == "assistant" && rawjson.Kind(fields["message"]) == "an object":
		return message("assistant").with(fields, "message").or(fields, "parent_tool_use_id", "null").
			text("session_id", session).with(fields, "error").end()
	case e.Type == event.ToolResult && kind == "tool_result":
		return toolResult(fields, session)
	case e.Type == event.Partial && fields["event"] != nil:
		return message("stream_event").with(fields, "event").or(fields, "parent_tool_use_id", "null").
			text("session_id", session).end()
	case e.Type == event.Progress && kind == "rate_limit":
		return message("rate_limit_event").with(fields, "rate_limit_info").text("session_id", session).end()
	case e.Type == event.Progress && kind != "" && kind != "unknown" && kind != "withheld":
		return system(kind, data, session)
	case e.Type.Terminal() && fields["result"] != nil && fields["isError"] != nil:
		return result(fields, session)
	}
	return own(e.Type, kind, data, session)
}

func toolResult(fields map[string]json.RawMessage, session string) json.RawMessage {
	block := message("tool_result").or(fields, "tool_use_id", `""`).or(fields, "content", "null").
		or(fields, "is_error", "false").end()
	inner := append(append([]byte(`{"role":"user","content":[`), block...), "]}"...)
	return message("user").raw("message", inner).or(fields, "parent_tool_use_id", "null").
		text("session_id", session).end()
}

// system is what the CLI tells about itself: the members of the event, which has
// them at its top as the CLI does.
func system(kind string, data json.RawMessage, session string) json.RawMessage {
	if kind == "retry" { // the CLI's word, see docs/events.md
		kind = "api_retry"
	}
	m := message("system").text("subtype", kind)
	taken := map[string]bool{"type": true, "subtype": true, "session_id": true}
	rawjson.Each(data, func(literal, value []byte) {
		name, err := rawjson.Name(literal)
		folded := strings.ToLower(strings.ToUpper(name)) // there are readers that take no heed of case, of ſ for s neither
		if err == nil && !taken[folded] {
			taken[folded] = true
			m.literal(literal, value)
		}
	})
	return m.text("session_id", session).end()
}

// resultMembers are the members of a result, ours and the CLI's.
var resultMembers = [][2]string{
	{"isError", "is_error"}, {"durationMs", "duration_ms"}, {"durationApiMs", "duration_api_ms"}, {"numTurns", "num_turns"},
	{"result", "result"}, {"stopReason", "stop_reason"}, {"totalCostUsd", "total_cost_usd"}, {"usage", "usage"},
	{"modelUsage", "modelUsage"}, {"permissionDenials", "permission_denials"}, {"structuredOutput", "structured_output"},
}

// result is the end of the turn. The CLI calls failures of the API a success too.
func result(fields map[string]json.RawMessage, session string) json.RawMessage {
	subtype := stringOf(fields["errorSubtype"])
	switch {
	case subtype != "":
	case stringOf(fields["code"]) != "": // it ended outside the CLI
		subtype = "error_during_execution"
	default:
		subtype = "success"
	}
	m := message("result").text("subtype", subtype)
	for _, names := range resultMembers {
		if v := fields[names[0]]; v != nil {
			m.raw(names[1], v)
		}
	}
	return m.text("session_id", session).end()
}

// own is an event of ours. Its payload stays in one member: some of its members
// have the names, but not the kinds, of the CLI's.
func own(t event.Kind, kind string, data json.RawMessage, session string) json.RawMessage {
	subtype := string(t)
	if kind != "" && (t == event.Notice || kind == "withheld" || kind == "unknown") {
		subtype = kind
	}
	return message("gatehouse").text("subtype", subtype).text("session_id", session).raw("data", data).end()
}

// compact is a payload on one line; null for what is no JSON.
func compact(data json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil || b.Len() == 0 {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// membersOf are the members of an object, the last of each name; nil for anything else.
func membersOf(data json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	rawjson.Each(data, func(literal, value []byte) {
		if name, err := rawjson.Name(literal); err == nil {
			fields[name] = value
		}
	})
	return fields
}

// stringOf is a text, "" for anything else.
func stringOf(raw json.RawMessage) (s string) {
	if rawjson.Kind(raw) == "a string" {
		_ = json.Unmarshal(raw, &s) // valid, as the payload is
	}
	return s
}
