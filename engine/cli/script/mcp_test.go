package script

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestHandshake: at the first user message, per server, in the real CLI's order;
// ids are per server, and a second turn does not shake hands again.
func TestHandshake(t *testing.T) {
	echo := labCall("echo")
	h := playMCP(t, Scenario{Turns: [][]Step{{{Tool: &echo}, {Text: "done"}}, {{Reveal: "instructions"}}}})
	h.until("control_response")
	h.say("go")
	h.run()
	for _, server := range []string{"lab", "my lab"} {
		h.has(server+" initialize 0", server+" notifications/initialized", server+" tools/list 1", "init ")
	}
	h.has("init [map[name:lab status:connected] map[name:my lab status:connected]]", "ask mcp__lab__echo", "lab tools/call 2", "result false")
	call := at(h.asked[len(h.asked)-1], "request", "message")
	if fmt.Sprint(at(call, "params")) != "map[_meta:map[claudecode/toolUseId:toolu_script_0001 progressToken:2] arguments:map[x:1] name:echo]" {
		t.Errorf("call: %v", call)
	}
	if _, has := at(h.asked[len(h.asked)-2], "request", "message").(map[string]any)["params"]; has {
		t.Error("tools/list has params")
	}
	h.log = nil
	h.say("again")
	if r := h.run(); r["result"] != `{"lab":"be kind","my lab":"be kind"}` {
		t.Errorf("instructions: %v", r)
	}
	h.lacks("lab initialize")
	h.control("mcp_status")
	f := h.until("control_response")
	if s := fmt.Sprint(at(f, "response", "response", "mcpServers", "0")); !strings.Contains(s, "status:connected") || !strings.Contains(s, "readOnly:true") {
		t.Errorf("mcp_status: %s", s)
	}
	h.ends(0, "")
}

// TestHandshake_early: before initialize is answered, for hosts that forget to serve then.
func TestHandshake_early(t *testing.T) {
	h := playMCP(t, Scenario{MCP: MCP{Early: true}, Turns: texts("hello")})
	for range 6 {
		h.answerMCP(h.next())
	}
	h.until("control_response")
	h.say("go")
	h.run()
	h.has("lab tools/list 1", "init [map[name:lab status:connected]")
	h.ends(0, "")
}

// TestHandshake_failed: a server that fails leaves the session without its tools;
// a host that breaks the protocol ends the script.
func TestHandshake_failed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version string
		method  string
		reply   any
		code    int
		stderr  string
		times   int // how often the handshake begins

		connected bool // as the server counts, though without tools
	}{
		{name: "unanswered", method: "initialize", reply: unanswered{}, stderr: "no answer in time", times: 1},
		{name: "unanswered by a newer one", version: "2.1.329", method: "initialize", reply: unanswered{}, stderr: "no answer in time", times: 2},
		{name: "refused", method: "initialize", reply: controlError("no such server"), stderr: "no such server", times: 1},
		{name: "error", method: "initialize", reply: rpcFailure{-32601}, stderr: "MCP error -32601: no", times: 1},
		{name: "list refused", method: "tools/list", reply: rpcFailure{-32603}, stderr: "MCP error -32603", times: 1, connected: true},
		{name: "tool without schema", method: "tools/list", stderr: `tool "b" has no inputSchema`, times: 1, connected: true,
			reply: map[string]any{"tools": append(labTools(), map[string]any{"name": "b"})}},
		{name: "no envelope", method: "initialize", reply: bare{map[string]any{"jsonrpc": "2.0", "id": 0}}, code: 3, stderr: "no mcp_response", times: 1},
		{name: "other id", method: "tools/list", code: 3, stderr: "has id 7, want 1", times: 1,
			reply: bare{map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": 7, "result": map[string]any{}}}}},
		{name: "no acknowledgement", method: "notifications/initialized", reply: unanswered{}, code: 3, stderr: "was not acknowledged", times: 1},
		{name: "odd acknowledgement", method: "notifications/initialized", reply: bare{map[string]any{}}, code: 3, stderr: "was not acknowledged", times: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				echo := labCall("echo")
				h := playMCP(t, Scenario{Version: tt.version, Turns: [][]Step{{{Tool: &echo}}}})
				begun := 0
				h.reply = func(server string, m map[string]any) any {
					if server == "lab" && m["method"] == "initialize" {
						begun++
					}
					if server == "lab" && m["method"] == tt.method {
						return tt.reply
					}
					return nil
				}
				h.say("go")
				r := h.run()
				if (r == nil) != (tt.code != 0) || begun != tt.times {
					t.Errorf("result %v, %d handshakes; stderr %s", r, begun, h.stderr)
				}
				if r != nil {
					h.has("init [map[name:lab", "result true No such tool available")
					if failed := strings.Contains(strings.Join(h.log, "\n"), "status:failed"); failed == tt.connected {
						t.Errorf("log: %v", h.log)
					}
				}
				h.ends(tt.code, tt.stderr)
			})
		})
	}
}

// TestNewer: newer CLIs tell the source, in init and to the gate, and follow
// changes of a list.
func TestNewer(t *testing.T) {
	for _, version := range []string{"2.1.197", "2.1.329", "2.2.0"} {
		h := playMCP(t, Scenario{Version: version, Turns: texts("a", "b")})
		lists := 0
		h.reply = func(server string, m map[string]any) any {
			if server == "lab" && m["method"] == "tools/list" {
				lists++
			}
			return nil
		}
		h.say("go")
		h.run()
		h.control("mcp_message", "server_name", "lab", "message", map[string]any{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
		h.until("control_response")
		newer := version != "2.1.197"
		if newer {
			h.answerMCP(h.until("control_request/mcp_message"))
		}
		h.ends(0, "")
		if source := strings.Contains(strings.Join(h.log, "\n"), "source:sdk"); source != newer || (lists == 2) != newer {
			t.Errorf("%s: source %v, %d lists", version, source, lists)
		}
	}
}

// TestHandshake_again: while one server is failed all of them are tried again in
// each turn.
func TestHandshake_again(t *testing.T) {
	h := playMCP(t, Scenario{Turns: texts("a", "b", "c")})
	refuse := true
	h.reply = func(server string, m map[string]any) any {
		if refuse && server == "lab" && m["method"] == "initialize" {
			return rpcFailure{-32603}
		}
		return nil
	}
	h.say("go")
	h.run()
	refuse, h.log = false, nil
	h.say("again")
	h.run()
	h.has("lab initialize 0")
	h.has("my lab initialize 0", "init [map[name:lab status:connected]")
	h.log = nil
	h.say("again")
	h.run()
	h.lacks("lab initialize")
	h.ends(0, "")
}

// TestSetServers: servers that are taken away and given back are asked anew, and
// what was under way at them is over.
func TestSetServers(t *testing.T) {
	echo := labCall("echo")
	h := playMCP(t, Scenario{Turns: [][]Step{{{Tool: &echo}, {Text: "done"}}, {{Tool: &echo}, {Text: "done"}}}})
	h.until("control_response")
	h.hold()
	h.say("go")
	call := h.untilCalls(1)[0]
	h.control("mcp_set_servers", "servers", map[string]any{})
	if f := h.until("control_response"); fmt.Sprint(at(f, "response", "response", "removed")) != "[lab my lab]" {
		t.Errorf("answer: %v", f)
	}
	h.answer(call, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": 2, "result": textResult("late")}})
	h.run()
	h.has("result true MCP error -32000: Connection closed")
	h.log, h.reply = nil, nil
	h.control("mcp_set_servers", "servers", map[string]any{"lab": map[string]any{"type": "sdk", "name": "lab"}, "far": map[string]any{"type": "http"}})
	if f := h.until("control_response"); fmt.Sprint(at(f, "response", "response", "added")) != "[lab]" {
		t.Errorf("answer: %v", f)
	}
	h.say("again")
	h.run()
	h.has("lab initialize 0", "lab tools/list 1", "init [map[name:lab status:connected]]", "lab tools/call 2", "result false")
	h.lacks("my lab")
	h.ends(0, "")
}

// TestPush: requests of a server are answered by a further message, what is
// neither request nor notification ends the script.
func TestPush(t *testing.T) {
	h := playMCP(t, Scenario{Turns: [][]Step{{{MCPUntil: &Until{Server: "lab", Push: "notifications/progress", Count: 2}}, {Text: "seen"}}}})
	h.say("go")
	for range 6 {
		h.answerMCP(h.until("control_request/mcp_message"))
	}
	push := func(m map[string]any) string {
		m["jsonrpc"] = "2.0"
		return h.control("mcp_message", "server_name", "lab", "message", m)
	}
	id := push(map[string]any{"id": 9, "method": "roots/list"})
	f := h.until("control_request/mcp_message")
	if m := at(f, "request", "message"); fmt.Sprint(at(m, "id")) != "9" || fmt.Sprint(at(m, "error", "code")) != "-32601" {
		t.Errorf("answer: %v", f)
	}
	h.answer(f, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": 0, "result": map[string]any{}}})
	if f := h.until("control_response"); at(f, "response", "request_id") != id || at(f, "response", "subtype") != "success" {
		t.Errorf("acknowledgement: %v", f)
	}
	push(map[string]any{"id": 10, "method": "ping"})
	f = h.until("control_request/mcp_message")
	if at(f, "request", "message", "result") == nil {
		t.Errorf("answer to ping: %v", f)
	}
	h.answer(f, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": 0, "result": map[string]any{}}})
	push(map[string]any{"method": "notifications/progress"})
	push(map[string]any{"method": "notifications/progress"})
	if r := h.run(); r["result"] != "seen" {
		t.Errorf("result: %v", r)
	}
	h.control("mcp_message", "server_name", "other", "message", map[string]any{"jsonrpc": "2.0", "method": "x"})
	if f := h.until("control_response"); at(f, "response", "subtype") != "success" {
		t.Errorf("push of an unknown server: %v", f)
	}
	push(map[string]any{"id": 1, "result": map[string]any{}})
	h.ends(3, "neither a notification nor a request")
}

// TestMCPSteps: what the script sends itself, and what it expects of the answers.
func TestMCPSteps(t *testing.T) {
	message := func(id int, method string, want *Expect) Step {
		return Step{MCPMessage: &MCPMessage{Server: "lab", Message: map[string]any{"jsonrpc": "2.0", "id": id, "method": method}, Expect: want}}
	}
	as := message(5, "tools/call", nil)
	as.MCPMessage.As = "first"
	code := -32601
	for _, tt := range []struct {
		name   string
		steps  []Step
		reply  any
		stderr string // empty: it is as expected
	}{
		{"error code", []Step{message(5, "x", &Expect{Code: &code})}, rpcFailure{-32601}, ""},
		{"other code", []Step{message(5, "x", &Expect{Code: &code})}, rpcFailure{-32600}, "want error -32601"},
		{"no error", []Step{message(5, "x", &Expect{Code: &code})}, nil, "want error -32601"},
		{"text", []Step{message(5, "x", &Expect{Contains: []string{"be kind"}})}, textResult("be kind"), ""},
		{"no text", []Step{message(5, "x", &Expect{Contains: []string{"be kind"}})}, textResult("be rude"), `want "be kind"`},
		{"covered", []Step{message(5, "x", &Expect{Lacks: []string{"kind"}})}, textResult("be kind"), `want no "kind"`},
		{"is_error", []Step{message(5, "x", &Expect{IsError: truth(true)})}, textResult("a"), "want is_error true"},
		{"short", []Step{message(5, "x", &Expect{Bytes: 1000})}, textResult("a"), "want 1000 bytes"},
		{"blocks", []Step{message(5, "x", &Expect{Blocks: []string{"text"}})}, textResult("a"), ""},
		{"waited for", []Step{as, message(6, "y", nil), {MCPWait: &MCPWait{As: "first", Expect: &Expect{Contains: []string{"a"}}}}}, textResult("a"), ""},
		{"waited for all", []Step{as, {MCPWait: &MCPWait{}}}, textResult("a"), ""},
		{"unknown name", []Step{{MCPWait: &MCPWait{As: "second"}}}, nil, `is called "second"`},
		{"handshake again", []Step{{MCPHandshake: "lab"}}, nil, ""},
		{"handshake with none", []Step{{MCPHandshake: "other"}}, nil, "was not declared"},
		{"until in vain", []Step{{MCPUntil: &Until{Server: "lab", Tool: "never"}}}, nil, "waited in vain"},
		{"until", []Step{{MCPUntil: &Until{Server: "lab", Tool: "echo", NoTool: "other"}}}, nil, ""},
		{"never answered", []Step{message(5, "x", nil)}, unanswered{}, "was not answered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := playMCP(t, Scenario{Turns: [][]Step{append(tt.steps, Step{Text: "done"})}})
				h.reply = func(_ string, m map[string]any) any {
					if id, _ := m["id"].(float64); id > 4 {
						return tt.reply
					}
					return nil
				}
				h.say("go")
				if r := h.run(); (r == nil) != (tt.stderr != "") {
					t.Errorf("result %v; stderr %s", r, h.stderr)
				}
				code := 0
				if tt.stderr != "" {
					code = exitUnmet
				}
				h.ends(code, tt.stderr)
			})
		})
	}
}

// TestAnsweredTwice: a second answer to a message is a mistake of the host.
func TestAnsweredTwice(t *testing.T) {
	h := playMCP(t, Scenario{Turns: texts("hello")})
	h.say("go")
	f := h.until("control_request/mcp_message")
	h.answerMCP(f)
	h.answerMCP(f)
	h.run()
	h.ends(3, "was answered twice")
}
