package mpmserver

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

var conversions = []struct {
	name string
	kind event.Kind
	data string
	want string
}{
	{"assistant", event.Output, `{"message":{"content":[]},"parent_tool_use_id":null,"type":"assistant"}`,
		`{"type":"assistant","message":{"content":[]},"parent_tool_use_id":null,"session_id":"s"}`},
	{"assistant of a sub-agent, with an error", event.Output, `{"error":"rate_limit","message":{},"parent_tool_use_id":"toolu_1","type":"assistant"}`,
		`{"type":"assistant","message":{},"parent_tool_use_id":"toolu_1","session_id":"s","error":"rate_limit"}`},
	{"assistant that is none", event.Output, `{"type":"assistant","message":"x"}`,
		`{"type":"gatehouse","subtype":"output","session_id":"s","data":{"type":"assistant","message":"x"}}`},
	{"tool result", event.ToolResult, `{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no","parent_tool_use_id":null}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]},"parent_tool_use_id":null,"session_id":"s"}`},
	{"partial", event.Partial, `{"event":{"type":"content_block_delta"},"parent_tool_use_id":null}`,
		`{"type":"stream_event","event":{"type":"content_block_delta"},"parent_tool_use_id":null,"session_id":"s"}`},
	{"retry", event.Progress, `{"type":"retry","attempt":1,"retry_delay_ms":500}`,
		`{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":500,"session_id":"s"}`},
	{"rate limit", event.Progress, `{"type":"rate_limit","rate_limit_info":{"status":"allowed"}}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"},"session_id":"s"}`},
	{"progress that has our names", event.Progress, `{"type":"status","session_id":"other","subtype":"x","status":null,"status":1}`,
		`{"type":"system","subtype":"status","status":null,"session_id":"s"}`},
	{"progress that has them in other case", event.Progress, `{"type":"status","Type":"result","TYPE":"user","\u017fubtype":"success","Session_ID":"other","result":"x","Result":"y"}`,
		`{"type":"system","subtype":"status","result":"x","session_id":"s"}`},
	{"a message nobody knows", event.Progress, `{"type":"unknown","messageType":"new"}`,
		`{"type":"gatehouse","subtype":"unknown","session_id":"s","data":{"type":"unknown","messageType":"new"}}`},
	{"success", event.Result, `{"sessionId":"x","result":"ok","isError":false,"durationMs":3,"numTurns":1,"totalCostUsd":0.1,"sessionTotalTurns":1,"stopReason":"end_turn","permissionDenials":[]}`,
		`{"type":"result","subtype":"success","is_error":false,"duration_ms":3,"num_turns":1,"result":"ok","stop_reason":"end_turn","total_cost_usd":0.1,"permission_denials":[],"session_id":"s"}`},
	{"failure of the API", event.Error, `{"result":"API Error: 529","isError":true,"errorType":"APIError"}`,
		`{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529","session_id":"s"}`},
	{"failure of the CLI", event.Error, `{"result":"x","isError":true,"errorSubtype":"error_max_turns"}`,
		`{"type":"result","subtype":"error_max_turns","is_error":true,"result":"x","session_id":"s"}`},
	{"failure outside the CLI", event.Error, `{"result":"x","isError":true,"code":"TIMEOUT"}`,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"result":"x","session_id":"s"}`},
	{"notice", event.Notice, `{"type":"queued","message":"text"}`,
		`{"type":"gatehouse","subtype":"queued","session_id":"s","data":{"type":"queued","message":"text"}}`},
	{"question", event.PermissionAsked, `{"type":"permission","requestId":"r"}`,
		`{"type":"gatehouse","subtype":"permission_request","session_id":"s","data":{"type":"permission","requestId":"r"}}`},
	{"decision", event.PermissionResult, `{"behavior":"deny"}`,
		`{"type":"gatehouse","subtype":"permission_result","session_id":"s","data":{"behavior":"deny"}}`},
	{"withheld", event.Output, `{"type":"withheld","kind":"output","bytes":9}`,
		`{"type":"gatehouse","subtype":"withheld","session_id":"s","data":{"type":"withheld","kind":"output","bytes":9}}`},
	{"withheld result", event.Result, `{"type":"withheld"}`,
		`{"type":"gatehouse","subtype":"withheld","session_id":"s","data":{"type":"withheld"}}`},
	{"several lines", event.Notice, "{\"type\":\n \"gate\"\r\n}", `{"type":"gatehouse","subtype":"gate","session_id":"s","data":{"type":"gate"}}`},
	{"no object", event.Output, `[1]`, `{"type":"gatehouse","subtype":"output","session_id":"s","data":[1]}`},
	{"no JSON", event.Progress, `{"type":`, `{"type":"gatehouse","subtype":"progress","session_id":"s","data":null}`},
}

func TestMessages(t *testing.T) {
	for _, tt := range conversions {
		t.Run(tt.name, func(t *testing.T) {
			got := messageOfEvent(event.Event{Type: tt.kind, Data: json.RawMessage(tt.data)}, "s")
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	for data, want := range map[string]string{
		`{"message":{"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"t"},{"type":"tool_use"},{"type":"text","text":"b"}]}}`: "a|b",
		`{"message":{"content":"plain"}}`:                                            "plain",
		`{"message":{"content":"x"},"parent_tool_use_id":"t"}`:                       "",
		`{"message":{"content":"x"},"error":"unknown"}`:                              "",
		`{"message":{"content":"x"},"error":null,"parent_tool_use_id":null}`:         "x",
		`{"message":{"model":"<synthetic>","content":[{"type":"text","text":"x"}]}}`: "",
		`{"message":[]}`: "", `{`: "", `null`: "", `{"message":{"content":[1,null,"x"]}}`: "",
	} {
		if got := strings.Join(textOf(json.RawMessage(data)), "|"); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}

func TestBoundsOfWhatIsKept(t *testing.T) {
	var a said
	long := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("ä", 300_000) + `"}]}}`
	for id := range 20 {
		a.add(event.Event{ID: int64(id), Type: event.Output, Data: json.RawMessage(long)}, "s")
	}
	huge := `{"type":"n","x":"` + strings.Repeat("x", maxMessages) + `"}`
	a.add(event.Event{ID: 20, Type: event.Notice, Data: json.RawMessage(huge)}, "s")
	if n := len(a.messages); n == 0 || a.bytes > maxMessages || int64(n)+a.dropped != 21 {
		t.Errorf("%d messages of %d bytes, %d dropped", n, a.bytes, a.dropped)
	}
	if a.length > 3*maxOutput {
		t.Errorf("%d bytes of texts are kept", a.length)
	}
	if out := a.output(); len(out) > maxOutput || len(out) < maxOutput-4 || strings.Trim(out, "ä\n") != "" {
		t.Errorf("output has %d bytes", len(out))
	}
}

// Whatever an event holds, its message is one line of JSON with a type of ours.
func FuzzMessages(f *testing.F) {
	for _, tt := range conversions {
		f.Add(string(tt.kind), []byte(tt.data))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		e := event.Event{Type: event.Kind(kind), Data: data}
		got := messageOfEvent(e, "s")
		var m struct {
			Type      *string
			SessionID *string `json:"session_id"`
		}
		if err := json.Unmarshal(got, &m); err != nil || m.Type == nil || m.SessionID == nil || *m.SessionID != "s" {
			t.Fatalf("%q: %v", got, err)
		}
		if bytes.ContainsAny(got, "\n\r") {
			t.Fatalf("%q has several lines", got)
		}
		switch *m.Type {
		case "assistant", "user", "system", "result", "stream_event", "rate_limit_event", "gatehouse":
		default:
			t.Fatalf("type %q", *m.Type)
		}
		var a said
		a.add(e, "s")
		if len(a.messages) != 1 {
			t.Fatal("not kept")
		}
	})
}
