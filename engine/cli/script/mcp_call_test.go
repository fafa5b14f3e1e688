package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestServerCall: the way of a call, from the gate to its result.
func TestServerCall(t *testing.T) {
	bare := labCall("echo")
	with := func(edit func(*Tool)) Tool {
		tool := labCall("echo")
		edit(&tool)
		return tool
	}
	for _, tt := range []struct {
		name string
		tool Tool
		args []string
		deny bool
		log  []string // in this order; "-x" for a line that must not be there
		sent string   // params of tools/call
		code int
	}{
		{name: "permitted", tool: bare, log: []string{"ask mcp__lab__echo", "lab tools/call 2", "result false [map[text:map[x:1]"}},
		{name: "denied", tool: bare, deny: true, log: []string{"result true rule 7", "-lab tools/call"}},
		{name: "by a rule", tool: bare, args: []string{"--allowedTools", "mcp__lab__*"}, log: []string{"lab tools/call 2", "-ask"}},
		{name: "by a server's rule", tool: bare, args: []string{"--allowedTools", "mcp__lab"}, log: []string{"lab tools/call 2", "-ask"}},
		{name: "never asked", tool: with(func(t *Tool) { t.Unmediated = true }), log: []string{"lab tools/call 2", "-ask"}},
		{name: "another input", tool: with(func(t *Tool) { t.SendInput = map[string]any{"x": "2"} }), log: []string{"ask", "lab tools/call 2", "result false [map[text:map[x:2]"}},
		{name: "long input", tool: with(func(t *Tool) { t.Fill = map[string]int{"long": 5}; t.Expect = &Expect{Contains: []string{"xxxxx"}} }), log: []string{"ask", "result false"}},
		{name: "off the list", tool: labCall("none"), log: []string{"result true No such tool", "-ask", "-lab tools/call"}},
		{name: "off the list all the same", tool: Tool{Name: "mcp__lab__none", Unlisted: true}, log: []string{"ask", "lab tools/call 2"}, sent: "name:none"},
		{name: "name made normal", tool: labCall("with_dot"), log: []string{"ask mcp__lab__with_dot", "lab tools/call 2"}, sent: "name:with.dot"},
		{name: "server made normal", tool: Tool{Name: "mcp__my_lab__echo"}, log: []string{"ask", "my lab tools/call 2"}},
		{name: "of no such server", tool: Tool{Name: "mcp__far__echo", Output: quoted("own output")}, log: []string{"ask", "result false [map[text:own output", "-far"}},
		{name: "with output", tool: with(func(t *Tool) { t.Output = quoted("own output") }), code: 3},
		{name: "not as expected", tool: with(func(t *Tool) { t.Expect = &Expect{IsError: truth(true)} }), code: 3},
		{name: "cancelled", tool: with(func(t *Tool) { t.Cancel = &Cancel{} }), log: []string{"lab tools/call 2", "lab notifications/cancelled", "result false"}},
		{name: "cancelled after a while", tool: with(func(t *Tool) { t.Cancel = &Cancel{AfterMS: 60_000} }), log: []string{"lab tools/call 2", "result false"}},
		{name: "cancelled too early", tool: with(func(t *Tool) { t.Cancel = &Cancel{First: true} }), log: []string{"lab notifications/cancelled", "lab tools/call 2", "result false"}},
		{name: "dead", tool: with(func(t *Tool) { t.DieInCall = &Exit{Code: 7} }), log: []string{"lab tools/call 2"}, code: 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := playMCP(t, oneTool(tt.tool), tt.args...)
			h.deny = tt.deny
			h.say("go")
			h.run()
			for _, line := range tt.log {
				if no, lacks := strings.CutPrefix(line, "-"); lacks {
					h.lacks(no)
				}
			}
			h.has(slices.DeleteFunc(slices.Clone(tt.log), func(s string) bool { return s[0] == '-' })...)
			if len(h.asked) > 0 && !strings.Contains(fmt.Sprint(h.asked[len(h.asked)-1]), tt.sent) {
				t.Errorf("sent %v, want %s", h.asked[len(h.asked)-1], tt.sent)
			}
			h.ends(tt.code, "")
		})
	}
}

// TestServerResult: what the model and the hooks read of a server's answer.
func TestServerResult(t *testing.T) {
	content := func(blocks ...any) map[string]any { return map[string]any{"content": append([]any{}, blocks...)} }
	and := func(m map[string]any, k string, v any) map[string]any { m[k] = v; return m }
	for _, tt := range []struct {
		name    string
		version string
		reply   any
		hook    string // the text of the hook's input
		result  string
		shown   string // tool_use_result
	}{
		{"text", "", textResult("hi"), "tool_response:[map[text:hi type:text]]", "[map[text:hi type:text]]", "[map[text:hi"},
		{"empty", "", content(), "tool_response:[]", "(mcp__lab__echo completed with no output)", "[]"},
		{"image", "", content(map[string]any{"type": "image", "mimeType": "image/png", "data": "AA=="}), "media_type:image/png", "type:base64", "[map"},
		{"audio", "", content(map[string]any{"type": "audio", "mimeType": "audio/wav", "data": "AA=="}), "[Audio from lab]", "[Audio from lab]", "["},
		{"link", "", content(map[string]any{"type": "resource_link", "name": "n", "uri": "u:1"}), "[Resource link: n] u:1", "[Resource link", "["},
		{"resource", "", content(map[string]any{"type": "resource", "resource": map[string]any{"uri": "u:1", "text": "t"}}), "[Resource from lab at u:1] t", "t", "["},
		{"structured", "", and(textResult("hi"), "structuredContent", map[string]any{"a": 1}), `tool_response:{"a":1}`, `{"a":1}`, `structuredContent:map[a:1]`},
		{"meta", "", and(textResult("hi"), "_meta", map[string]any{"k": "v"}), "tool_response:[map[text:hi", "[map[text:hi", "_meta:map[k:v]"},
		{"failed", "", and(content(textBlock("no"), textBlock("way")), "isError", true), "error:no\nway", "no\nway", "Error: no\nway"},
		{"failed with meta", "", and(and(textResult("no"), "isError", true), "_meta", map[string]any{"k": "v"}), "error:no", "no", "_meta:map[k:v]"},
		{"error", "", rpcFailure{-32602}, "error:MCP error -32602: no", "MCP error -32602: no", "Error: MCP"},
		{"error of a newer one", "2.1.329", rpcFailure{-32602}, "error:no", "no", "Error: no"},
		{"control error", "", controlError("crashed"), "error:crashed", "crashed", "Error: crashed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := oneTool(labCall("echo"))
			sc.Version = tt.version
			h := &mcpHost{host: start(t, sc)}
			hook := []any{map[string]any{"hookCallbackIds": []string{"h"}}}
			h.control("initialize", "sdkMcpServers", []string{"lab"}, "hooks", map[string]any{"PostToolUse": hook, "PostToolUseFailure": hook})
			h.reply = func(_ string, m map[string]any) any {
				if m["method"] == "tools/call" {
					return tt.reply
				}
				return nil
			}
			h.say("go")
			for f := h.next(); kindOf(f) != "result/success"; f = h.next() {
				switch kindOf(f) {
				case "control_request/mcp_message":
					h.answerMCP(f)
				case "control_request/can_use_tool":
					h.allow(f)
				case "control_request/hook_callback":
					if s := fmt.Sprint(at(f, "request", "input")); !strings.Contains(s, tt.hook) {
						t.Errorf("hook has %s, want %s", s, tt.hook)
					}
					h.answer(f, map[string]any{})
				case "user":
					if s, _ := toolResult(f); !strings.Contains(s, tt.result) {
						t.Errorf("model reads %s, want %s", s, tt.result)
					}
					if s := fmt.Sprint(f["tool_use_result"]); !strings.Contains(s, tt.shown) {
						t.Errorf("shown is %s, want %s", s, tt.shown)
					}
				case "":
					t.Fatalf("stdout ended; stderr %s", h.stderr)
				}
			}
			h.ends(0, "")
		})
	}
}

// hold keeps the calls of tools from being answered.
func (h *mcpHost) hold() {
	h.reply = func(_ string, m map[string]any) any {
		if m["method"] == "tools/call" {
			return unanswered{}
		}
		return nil
	}
}

// untilCalls answers all else until n calls have come, which it returns.
func (h *mcpHost) untilCalls(n int) []map[string]any {
	h.t.Helper()
	var calls []map[string]any
	for len(calls) < n {
		switch f := h.next(); kindOf(f) {
		case "control_request/can_use_tool":
			h.allow(f)
		case "control_request/mcp_message":
			h.answerMCP(f)
			if at(f, "request", "message", "method") == "tools/call" {
				calls = append(calls, f)
			}
		case "", "result/success":
			h.t.Fatalf("got %v before call %d", f, n)
		}
	}
	return calls
}

// TestServerCall_interrupt: the call is cancelled before the interrupt is answered,
// and its late answer is taken in silence.
func TestServerCall_interrupt(t *testing.T) {
	echo := labCall("echo")
	h := playMCP(t, Scenario{Turns: [][]Step{{{Tool: &echo}}, {{Text: "works on"}}}})
	h.hold()
	h.say("go")
	call := h.untilCalls(1)[0]
	h.control("interrupt")
	cancel := h.until("control_request/mcp_message")
	if fmt.Sprint(at(cancel, "request", "message", "params")) != "map[reason:AbortError: remote-cancel requestId:2]" {
		t.Errorf("cancellation: %v", cancel)
	}
	h.answerMCP(cancel)
	h.until("control_response")
	h.until("result/error_during_execution")
	h.answer(call, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": 2, "result": textResult("late")}})
	h.say("again")
	if r := h.run(); r["result"] != "works on" {
		t.Errorf("result: %v", r)
	}
	h.ends(0, "")
}

// TestServerCall_cancelUnacknowledged: no notification may go without an answer.
func TestServerCall_cancelUnacknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := labCall("echo")
		tool.TimeoutMS = 1000
		h := playMCP(t, Scenario{Turns: [][]Step{{{Tool: &tool}, {SleepMS: 200_000}}}})
		h.reply = func(_ string, m map[string]any) any {
			if m["method"] == "tools/call" || m["method"] == "notifications/cancelled" {
				return unanswered{}
			}
			return nil
		}
		h.say("go")
		if r := h.run(); r != nil {
			t.Errorf("result %v", r)
		}
		h.has("lab tools/call 2", "lab notifications/cancelled", `result true MCP server "lab" tool "echo" timed out after 1s`)
		h.ends(3, "notifications/cancelled to server \"lab\" was not acknowledged")
	})
}

// TestServerCall_stdinClosed: a call under way ends, and so do all later ones.
func TestServerCall_stdinClosed(t *testing.T) {
	echo := labCall("echo")
	echo.Unmediated = true
	h := playMCP(t, Scenario{Turns: [][]Step{{{Tool: &echo}, {Tool: &echo}, {Text: "done"}}}})
	h.hold()
	h.say("go")
	h.untilCalls(1)
	h.close()
	h.run()
	h.has("result true Tool permission stream closed", "result true Stream closed")
	h.ends(0, "")
}

// TestServerCall_parallel: neighbours that only read run beside each other, each
// other call alone.
func TestServerCall_parallel(t *testing.T) {
	for _, tt := range []struct {
		tools   []string
		batches []int // calls in flight at once
	}{
		{[]string{"ro", "ro", "ro"}, []int{3}},
		{[]string{"echo", "echo"}, []int{1, 1}},
		{[]string{"ro", "ro", "echo", "ro"}, []int{2, 1, 1}},
	} {
		t.Run(strings.Join(tt.tools, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tools []Tool
				for _, name := range tt.tools {
					tools = append(tools, labCall(name))
				}
				h := playMCP(t, Scenario{Turns: [][]Step{{{Parallel: tools}, {Text: "done"}}}})
				h.hold()
				h.say("go")
				for _, n := range tt.batches {
					calls := h.untilCalls(n)
					synctest.Wait()
					for len(h.frames) > 0 {
						if f := h.next(); kindOf(f) == "control_request/mcp_message" {
							t.Errorf("one more call: %v", f)
						}
					}
					for _, f := range calls {
						h.answer(f, map[string]any{"mcp_response": map[string]any{
							"jsonrpc": "2.0", "id": at(f, "request", "message", "id"), "result": textResult("ok")}})
					}
				}
				if r := h.run(); r["result"] != "done" || fmt.Sprint(r["num_turns"]) != fmt.Sprint(1+len(tools)) {
					t.Errorf("result %v", r)
				}
				h.ends(0, "")
			})
		})
	}
}
