package control

import (
	"encoding/json"
	"fmt"
)

// The envelopes of the control protocol, both directions the same (observed on
// CLI 2.1.197 and 2.1.329):
//
//	{"type":"control_request","request_id":ID,"request":{"subtype":S,…}}
//	{"type":"control_response","response":{"subtype":"success","request_id":ID,"response":{…}}}
//	{"type":"control_response","response":{"subtype":"error","request_id":ID,"error":"text"}}
//	{"type":"control_cancel_request","request_id":ID}
const (
	typeRequest  = "control_request"
	typeResponse = "control_response"
	typeCancel   = "control_cancel_request"
	typeAlive    = "keep_alive"
)

// Request is one control request of the peer.
type Request struct {
	ID      string
	Subtype string
	Fields  map[string]json.RawMessage // the request object by exact key
	Unclear error                      // why only callback_id is told: the rest can be read in several ways
}

// String returns a text field, "" when it is absent or no text.
func (r Request) String(key string) string { return text(r.Fields[key]) }

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func parseRequest(envelope map[string]json.RawMessage) (Request, error) {
	r := Request{ID: text(envelope["request_id"])}
	fields, err := object(envelope["request"])
	if err != nil {
		return r, fmt.Errorf("control request %q: request: %w", r.ID, err)
	}
	r.Fields, r.Subtype = fields, text(fields["subtype"])
	if r.ID == "" || r.Subtype == "" {
		return r, fmt.Errorf("control request %q: request_id or subtype missing", r.ID)
	}
	return r, nil
}

func requestLine(id, subtype string, fields map[string]any) (json.RawMessage, error) {
	body := make(map[string]any, len(fields)+1)
	for k, v := range fields {
		body[k] = v
	}
	body["subtype"] = subtype
	return json.Marshal(map[string]any{"type": typeRequest, "request_id": id, "request": body})
}

func successLine(id string, answer any) (json.RawMessage, error) {
	response := map[string]any{"subtype": "success", "request_id": id}
	if answer != nil {
		response["response"] = answer
	}
	return json.Marshal(map[string]any{"type": typeResponse, "response": response})
}

func errorLine(id, message string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"type": typeResponse, "response": map[string]any{
		"subtype": "error", "request_id": id, "error": message,
	}})
}
