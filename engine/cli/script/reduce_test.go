package script

import "fmt"

// reducer cuts frames down to the protocol fields the fixtures hold: tool_use
// ids become t1, t2…, requests of the CLI q1, q2…, in order of appearance.
type reducer struct {
	tools    map[any]string
	requests map[string]string // short name: real id
}

func newReducer() *reducer {
	return &reducer{tools: map[any]string{}, requests: map[string]string{}}
}

func (r *reducer) tool(id any) string {
	if r.tools[id] == "" {
		r.tools[id] = fmt.Sprintf("t%d", len(r.tools)+1)
	}
	return r.tools[id]
}

func (r *reducer) request(id any) any {
	for short, real := range r.requests {
		if real == id {
			return short
		}
	}
	return id
}

func (r *reducer) frame(m map[string]any) map[string]any {
	o := map[string]any{"type": m["type"]}
	switch m["type"] {
	case "system":
		copyKeys(o, m, "subtype", "permissionMode")
		if m["subtype"] == "task_notification" {
			copyKeys(o, m, "status")
		}
		if id, ok := m["tool_use_id"]; ok {
			o["tool_use_id"] = r.tool(id)
		}
	case "control_response":
		o["response"] = map[string]any{
			"subtype": at(m, "response", "subtype"), "request_id": at(m, "response", "request_id")}
	case "control_cancel_request":
		o["request_id"] = r.request(m["request_id"])
	case "control_request":
		r.requests[fmt.Sprintf("q%d", len(r.requests)+1)] = m["request_id"].(string)
		o["request_id"], o["request"] = r.request(m["request_id"]), r.question(m["request"].(map[string]any))
	case "assistant", "user":
		r.message(o, m)
	case "result":
		copyKeys(o, m, "subtype", "is_error", "terminal_reason", "num_turns", "stop_reason")
		o["denials"] = float64(len(m["permission_denials"].([]any)))
		_, o["has_result"] = m["result"]
		_, o["has_errors"] = m["errors"]
		if kind := at(m, "origin", "kind"); kind != nil {
			o["origin"] = kind
		}
	}
	return o
}

func (r *reducer) question(m map[string]any) map[string]any {
	o := map[string]any{}
	copyKeys(o, m, "subtype", "tool_name", "decision_reason_type")
	if m["subtype"] == "can_use_tool" {
		o["tool_use_id"] = r.tool(m["tool_use_id"])
	}
	input, _ := m["input"].(map[string]any)
	if _, hook := input["hook_event_name"]; hook {
		copyKeys(o, input, "hook_event_name", "permission_mode", "tool_name")
	}
	if m["agent_id"] != nil || input["agent_id"] != nil {
		o["agent"] = true
	}
	return o
}

func (r *reducer) message(o, m map[string]any) {
	if m["isReplay"] == true {
		o["isReplay"] = true
	} else if id, ok := m["parent_tool_use_id"].(string); ok {
		o["parent_tool_use_id"] = r.tool(id)
	}
	o["content"] = "text"
	if blocks, ok := at(m, "message", "content").([]any); ok {
		o["content"] = r.blocks(blocks)
	}
	switch m["tool_use_result"].(type) {
	case nil:
	case map[string]any:
		o["tool_use_result"] = "object"
	default:
		o["tool_use_result"] = "string"
	}
}

func (r *reducer) blocks(blocks []any) []any {
	out := []any{}
	for _, b := range blocks {
		o, m := map[string]any{}, b.(map[string]any)
		copyKeys(o, m, "type")
		switch m["type"] {
		case "tool_use":
			copyKeys(o, m, "name")
			o["id"] = r.tool(m["id"])
		case "tool_result":
			copyKeys(o, m, "is_error")
			o["tool_use_id"] = r.tool(m["tool_use_id"])
		}
		out = append(out, o)
	}
	return out
}

func copyKeys(dst, src map[string]any, keys ...string) {
	for _, k := range keys {
		if v, ok := src[k]; ok {
			dst[k] = v
		}
	}
}
