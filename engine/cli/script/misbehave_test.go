package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestExit: at once, in a turn, while a question is open.
func TestExit(t *testing.T) {
	die := bash("touch x")
	die.Die = &Exit{Code: 9, Stderr: "out of memory"}
	for _, tt := range []struct {
		name string
		sc   Scenario
		code int
		last string // the last frame's kind
	}{
		{"at start", Scenario{ExitAtStart: &Exit{Code: 3, Stderr: "no licence"}}, 3, ""},
		{"in a turn", Scenario{Turns: [][]Step{{{Text: "bye"}, {Exit: &Exit{Code: 4}}}}}, 4, "assistant"},
		{"question open", oneTool(die), 9, "control_request/can_use_tool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, tt.sc)
			if tt.last != "" {
				h.initialize()
				h.say("go")
			}
			last := ""
			for f := h.next(); f != nil; f = h.next() {
				last = kindOf(f)
			}
			if code := h.wait(); code != tt.code || last != tt.last {
				t.Errorf("exit code %d after %q, want %d after %q", code, last, tt.code, tt.last)
			}
		})
	}
}

// TestOddFrames covers output a host must survive, each followed by a result.
func TestOddFrames(t *testing.T) {
	garbage := "{not json"
	for _, tt := range []struct {
		name string
		step Step
		want func(map[string]any) bool
	}{
		{"garbage", Step{Raw: &garbage}, func(f map[string]any) bool { return f["type"] == "garbage" }},
		{"unknown type", Step{Frame: map[string]any{"type": "novelty"}}, func(f map[string]any) bool {
			return f["type"] == "novelty" && f["uuid"] != nil
		}},
		{"oversized", Step{Oversized: 3 << 20}, func(f map[string]any) bool {
			text, _ := at(f, "message", "content", "0", "text").(string)
			return len(text) == 3<<20
		}},
		{"retry", Step{APIRetry: &APIRetry{Attempt: 1}}, func(f map[string]any) bool { return f["subtype"] == "api_retry" }},
		{"thinking", Step{Thinking: "hm"}, func(f map[string]any) bool {
			return at(f, "message", "content", "0", "type") == "thinking"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, Scenario{Turns: [][]Step{{tt.step, {Text: "done"}}}})
			h.say("go")
			h.until("system/init")
			if f := h.next(); !tt.want(f) {
				t.Errorf("got %.200v", f)
			}
			h.until("result/success")
		})
	}
}

// TestRequests: whatever the host answers, the script goes on.
func TestRequests(t *testing.T) {
	steps := []Step{
		{Request: map[string]any{"subtype": "from_the_future"}}, {Reveal: "answer"},
		{Elicitation: map[string]any{"mcp_server_name": "ext", "message": "your name?", "mode": "form"}},
		{MCPMessage: &MCPMessage{Server: "lab", Message: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}}, {Reveal: "answer"},
	}
	h := start(t, Scenario{Turns: [][]Step{steps}})
	h.say("go")
	q := h.until("control_request/from_the_future")
	h.answerError(q, "unknown")
	if f := h.until("assistant"); at(f, "message", "content", "0", "text") != `{"error":"unknown"}` {
		t.Errorf("got %v", f)
	}
	h.answer(h.until("control_request/elicitation"), map[string]any{"action": "cancel"})
	h.answer(h.until("control_request/mcp_message"), map[string]any{"mcp_response": map[string]any{"id": 1}})
	if r := h.until("result/success"); r["result"] != `{"response":{"mcp_response":{"id":1}}}` {
		t.Errorf("result = %v", r["result"])
	}
}

// TestReveal shows what the process was given.
func TestReveal(t *testing.T) {
	t.Setenv("SCRIPT_TEST_VARIABLE", "value")
	for what, want := range map[string]string{
		"args": `["--output-format","stream-json"`, "prompt": `"go"`, "env:SCRIPT_TEST_VARIABLE": `"value"`,
		"env:SCRIPT_TEST_UNSET": "null", "cwd": `"/`, "initialize": "null", "mcp-config": "null",
	} {
		h := start(t, Scenario{Turns: [][]Step{{{Reveal: what}}}})
		h.say("go")
		if r := h.until("result/success"); !strings.HasPrefix(fmt.Sprint(r["result"]), want) {
			t.Errorf("%s = %v, want %s", what, r["result"], want)
		}
	}
}

// TestFlood: a slow reader holds the script back, an interrupt ends it.
func TestFlood(t *testing.T) {
	h := start(t, Scenario{Turns: [][]Step{{{Flood: 500}, {Text: "done"}}, {{Flood: 1 << 30}}}})
	h.say("go")
	n := 0
	for f := h.next(); kindOf(f) != "result/success"; f = h.next() {
		if kindOf(f) == "assistant" {
			n++
		}
	}
	if n != 501 {
		t.Errorf("%d frames, want 501", n)
	}
	h.say("again")
	h.until("assistant")
	h.control("interrupt")
	h.until("result/error_during_execution")
}

// TestWithdraw: the CLI cancels its own question; a late answer changes nothing.
func TestWithdraw(t *testing.T) {
	for _, runs := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			tool := bash("touch x")
			tool.Withdraw = &Withdraw{AfterMS: 60_000, Run: runs}
			h := start(t, oneTool(tool), askAll)
			h.initialize()
			h.say("go")
			q := h.until("control_request/can_use_tool")
			time.Sleep(59 * time.Second)
			if f := h.until("control_cancel_request"); f["request_id"] != q["request_id"] {
				t.Errorf("cancelled %v, want %v", f, q["request_id"])
			}
			h.answer(q, map[string]any{"behavior": "deny", "message": "late"})
			if content, failed := toolResult(h.until("user")); failed == runs || content == "late" {
				t.Errorf("tool_result = %q, %v", content, failed)
			}
			h.end()
		})
	}
}

// TestSilence covers the switches that leave a host waiting.
func TestSilence(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sc     Scenario
		silent func(h *host) // what gets no answer
	}{
		{"no initialize answer", Scenario{NeverInitialize: true}, func(h *host) { h.control("initialize") }},
		{"no init", Scenario{NeverInit: true}, func(h *host) { h.say("go") }},
		{"no interrupt answer", Scenario{IgnoreInterrupt: true}, func(h *host) { h.control("interrupt") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, tt.sc)
				tt.silent(h)
				select {
				case f := <-h.frames:
					t.Errorf("got %v, want silence", f)
				case <-time.After(time.Hour):
				}
				if code := h.end(); code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		})
	}
}

// TestSwitches: hooks and questions can be left out.
func TestSwitches(t *testing.T) {
	for _, tt := range []struct {
		name string
		sc   Scenario
		want []string
	}{
		{"both", Scenario{}, []string{"hook_callback", "can_use_tool", "hook_callback"}},
		{"no hooks", Scenario{NoHooks: true}, []string{"can_use_tool"}},
		{"no ask", Scenario{NoAsk: true}, []string{"hook_callback", "hook_callback"}},
		{"neither", Scenario{NoAsk: true, NoHooks: true}, nil},
	} {
		tt.sc.Turns = oneTool(bash("touch x")).Turns
		h := start(t, tt.sc)
		h.initialize("PreToolUse", "PostToolUse")
		h.say("go")
		var asked []string
		for f := h.next(); kindOf(f) != "result/success"; f = h.next() {
			switch subtype, _ := at(f, "request", "subtype").(string); subtype {
			case "hook_callback":
				asked = append(asked, subtype)
				h.answer(f, map[string]any{})
			case "can_use_tool":
				asked = append(asked, subtype)
				h.allow(f)
			}
		}
		if !slices.Equal(asked, tt.want) {
			t.Errorf("%s: asked %v, want %v", tt.name, asked, tt.want)
		}
	}
}

// TestSettingsDropped heals when no settings file is loaded, if it is to.
func TestSettingsDropped(t *testing.T) {
	dropped := &SettingsDropped{UnlessIsolated: true}
	for _, tt := range []struct {
		args    []string
		dropped *SettingsDropped
		ask     bool
		managed bool
	}{
		{nil, nil, true, true},
		{nil, dropped, false, false},
		{[]string{"--setting-sources=user,project"}, dropped, false, false},
		{[]string{"--setting-sources="}, dropped, true, true},
		{[]string{"--setting-sources="}, &SettingsDropped{Keys: []string{"allowManagedHooksOnly"}}, true, false},
	} {
		h := start(t, Scenario{SettingsDropped: tt.dropped},
			append(tt.args, askAll, `--managed-settings={"allowManagedHooksOnly":true}`)...)
		h.control("get_settings")
		effective := at(h.until("control_response"), "response", "response", "effective")
		ask, managed := at(effective, "permissions", "ask", "0") == "*", at(effective, "allowManagedHooksOnly") == true
		if ask != tt.ask || managed != tt.managed {
			t.Errorf("%v: effective = %v", tt.args, effective)
		}
	}
}

// TestRepeatedIDs: two calls may carry the same tool_use id.
func TestRepeatedIDs(t *testing.T) {
	one := bash("touch x")
	one.ID = "toolu_same"
	h := start(t, Scenario{Turns: [][]Step{{{Tool: &one}, {Tool: &one}, {Text: "done"}}}})
	h.initialize()
	h.say("go")
	for range 2 {
		q := h.until("control_request/can_use_tool")
		if id := at(q, "request", "tool_use_id"); id != "toolu_same" {
			t.Errorf("tool_use_id = %v", id)
		}
		h.allow(q)
	}
	h.until("result/success")
}
