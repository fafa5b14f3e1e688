package script

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func texts(ss ...string) [][]Step {
	var turns [][]Step
	for _, s := range ss {
		turns = append(turns, []Step{{Text: s}})
	}
	return turns
}

// TestTurns: one init and one result for each message, queued ones included.
func TestTurns(t *testing.T) {
	h := start(t, Scenario{Turns: texts("one", "two ${PROMPT}")}, "--session-id=33333333-3333-4333-8333-333333333333")
	h.initialize()
	for _, prompt := range []string{"a", "b", "c"} {
		h.say(prompt)
	}
	for i, want := range []string{"one", "two b", "(script exhausted)"} {
		init := h.until("system/init")
		if init["session_id"] != "33333333-3333-4333-8333-333333333333" {
			t.Errorf("session_id = %v", init["session_id"])
		}
		r := h.until("result/success")
		if r["result"] != want {
			t.Errorf("turn %d: result = %v, want %s", i+1, r["result"], want)
		}
		if cost := r["total_cost_usd"].(float64); cost < costPerCall*float64(i+1)-1e-9 {
			t.Errorf("turn %d: total_cost_usd = %v is not the process's total", i+1, cost)
		}
	}
	if code := h.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestResultOverride: the exit code follows the last result's is_error.
func TestResultOverride(t *testing.T) {
	yes, text, cost := true, "API Error: overloaded", 1.5
	sc := Scenario{Turns: [][]Step{{
		{APIRetry: &APIRetry{Attempt: 1, MaxRetries: 2, DelayMS: 10, Error: "overloaded"}},
		{Result: &Result{IsError: &yes, Text: &text, Cost: &cost}}, {Text: "x"},
	}}}
	h := start(t, sc)
	h.say("go")
	if f := h.until("system/api_retry"); f["error_status"] != nil || f["attempt"] != 1.0 {
		t.Errorf("api_retry = %v", f)
	}
	r := h.until("result/success")
	if r["is_error"] != true || r["result"] != text || r["total_cost_usd"] != cost {
		t.Errorf("result = %v", r)
	}
	if code := h.end(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

// TestBlockedPrompt: a hook's block repeats the prompt in the result.
func TestBlockedPrompt(t *testing.T) {
	h := start(t, Scenario{Turns: texts("never")})
	h.initialize("UserPromptSubmit", "UserPromptExpansion")
	h.say("/secret plan")
	q := h.until("control_request/hook_callback")
	if at(q, "request", "input", "command_name") != "secret" {
		t.Errorf("expansion = %v", q)
	}
	h.answer(q, map[string]any{})
	q = h.until("control_request/hook_callback")
	h.answer(q, map[string]any{"decision": "block", "reason": "not here"})
	h.until("system/informational")
	r := h.until("result/success")
	if text, _ := r["result"].(string); !strings.Contains(text, "not here") || !strings.Contains(text, "/secret plan") || r["num_turns"] != 0.0 {
		t.Errorf("result = %v", r)
	}
}

// TestPartial: the assistant frame comes before its block's stop event.
func TestPartial(t *testing.T) {
	sc := Scenario{Turns: [][]Step{{{Partial: []string{"a", "b"}}}}}
	h := start(t, sc, "--include-partial-messages")
	h.say("go")
	var kinds []string
	for f := h.next(); kindOf(f) != "result/success"; f = h.next() {
		kind, _ := at(f, "event", "type").(string)
		kinds = append(kinds, kind+strings.TrimPrefix(kindOf(f), "stream_event"))
	}
	got := strings.Join(kinds, " ")
	want := "system/init message_start content_block_start content_block_delta content_block_delta assistant content_block_stop message_delta message_stop"
	if got != want {
		t.Errorf("frames:\n got %s\nwant %s", got, want)
	}
}

// TestParallel: calls that are not concurrent are asked one after the other,
// the first question before the second assistant frame.
func TestParallel(t *testing.T) {
	for _, concurrent := range []bool{false, true} {
		tools := []Tool{bash("touch a"), bash("touch b")}
		tools[0].Concurrent, tools[1].Concurrent = concurrent, concurrent
		h := start(t, Scenario{Turns: [][]Step{{{Parallel: tools}, {Text: "done"}}}})
		h.initialize()
		h.say("go")
		h.until("assistant")
		first := h.next()
		if kindOf(first) != "control_request/can_use_tool" {
			t.Fatalf("got %v, want the first question", first)
		}
		h.until("assistant")
		if !concurrent {
			h.allow(first)
		}
		second := h.until("control_request/can_use_tool")
		h.allow(second)
		h.until("user")
		if concurrent {
			h.allow(first)
		}
		h.until("user")
		if r := h.until("result/success"); r["num_turns"] != 3.0 {
			t.Errorf("num_turns = %v, want 3", r["num_turns"])
		}
	}
}

// TestInterrupt: of a stream, of a queued turn, of nothing.
func TestInterrupt(t *testing.T) {
	h := start(t, Scenario{Turns: [][]Step{{{Text: "word"}, {Interrupt: true}}, {{Text: "fine"}}}})
	h.initialize()
	h.control("interrupt")
	h.until("control_response")
	h.say("go")
	h.until("assistant")
	h.control("interrupt")
	h.until("control_response")
	r := h.until("result/error_during_execution")
	if r["is_error"] != true || r["terminal_reason"] != "aborted_streaming" {
		t.Errorf("result = %v", r)
	}
	h.say("again")
	if r := h.until("result/success"); r["result"] != "fine" {
		t.Errorf("result = %v", r)
	}
	if code := h.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestHookTimeout: an unanswered hook refuses the call; too long a timeout fires at once.
func TestHookTimeout(t *testing.T) {
	for _, seconds := range []float64{0.5, 86400, 2147484} {
		synctest.Test(t, func(t *testing.T) {
			h := start(t, oneTool(bash("ls")))
			h.control("initialize", "hooks", map[string]any{"PreToolUse": []any{
				map[string]any{"hookCallbackIds": []string{"x"}, "timeout": seconds}}})
			h.until("control_response")
			begin := time.Now()
			h.say("go")
			q := h.until("control_request/hook_callback")
			if seconds == 86400 {
				time.Sleep(time.Hour)
				h.answer(q, map[string]any{})
				if _, failed := toolResult(h.until("user")); failed {
					t.Error("a late answer within the timeout was refused")
				}
				return
			}
			h.until("control_cancel_request")
			if content, failed := toolResult(h.until("user")); !failed || content != textRefused {
				t.Errorf("tool_result = %q, %v", content, failed)
			}
			if waited := time.Since(begin); waited > time.Second {
				t.Errorf("%v s: refused after %v", seconds, waited)
			}
			h.end()
		})
	}
}

// TestStdinClosed: hooks fail open, questions fail closed, the turn is finished.
func TestStdinClosed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		failed bool
	}{{"hook only", nil, false}, {"ask all", []string{askAll}, true}} {
		h := start(t, oneTool(bash("ls")), tt.args...)
		h.initialize("PreToolUse")
		h.say("go")
		h.until("control_request/hook_callback")
		h.close()
		if content, failed := toolResult(h.until("user")); failed != tt.failed {
			t.Errorf("%s: tool_result = %q, %v", tt.name, content, failed)
		}
		h.until("result/success")
		if code := h.end(); code != 0 || !strings.Contains(h.stderr.String(), "stream closed") {
			t.Errorf("%s: exit code %d, stderr %q", tt.name, code, h.stderr)
		}
	}
}

// TestControls covers the requests of a host.
func TestControls(t *testing.T) {
	h := start(t, Scenario{ExtraSettings: map[string]any{"hooks": map[string]any{"PermissionRequest": []any{}}}},
		askAll, `--managed-settings={"allowManagedHooksOnly":true,"disableAllHooks":true,"permissions":{"ask":["*"]}}`)
	h.initialize()
	ok := func(subtype string, kv ...any) any {
		t.Helper()
		h.control(subtype, kv...)
		r := h.until("control_response")
		if at(r, "response", "subtype") != "success" {
			t.Errorf("%s: %v", subtype, r)
		}
		return at(r, "response", "response")
	}
	fails := func(want, subtype string, kv ...any) {
		t.Helper()
		h.control(subtype, kv...)
		r := h.until("control_response")
		if text, _ := at(r, "response", "error").(string); !strings.Contains(text, want) {
			t.Errorf("%s: %v, want error with %q", subtype, r, want)
		}
	}
	if mode := at(ok("set_permission_mode", "mode", "plan"), "mode"); mode != "plan" {
		t.Errorf("mode = %v", mode)
	}
	settings := ok("get_settings")
	if at(settings, "effective", "permissions", "ask", "0") != "*" || at(settings, "effective", "allowManagedHooksOnly") != true ||
		at(settings, "effective", "disableAllHooks") != nil || at(settings, "effective", "hooks", "PermissionRequest") == nil {
		t.Errorf("get_settings = %v", settings)
	}
	for _, s := range []string{
		"set_model", "mcp_status", "get_session_cost", "get_usage", "get_binary_version", "stop_task", "set_max_thinking_tokens",
		"apply_flag_settings", "mcp_set_servers", "get_context_usage", "file_suggestions", "cancel_async_message", "reload_skills",
	} {
		ok(s)
	}
	fails("bypassPermissions", "set_permission_mode", "mode", "bypassPermissions")
	fails("auto", "set_permission_mode", "mode", "auto")
	fails("Unsupported control request subtype: nonsense", "nonsense")
	fails("not found", "mcp_reconnect", "serverName", "x")
	fails("not connected", "mcp_call")
	fails("not enabled", "rewind_files")
	ok("end_session")
	if code := h.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestPendingReinitialize: a second initialize lists the open questions.
func TestPendingReinitialize(t *testing.T) {
	h := start(t, oneTool(bash("touch x")))
	h.initialize()
	h.say("go")
	q := h.until("control_request/can_use_tool")
	h.control("initialize")
	r := h.until("control_response")
	if id := at(r, "response", "response", "pending_permission_requests", "0", "request_id"); id != q["request_id"] {
		t.Errorf("pending = %v, want %v", id, q["request_id"])
	}
}

// startProcess is start with the process at hand, to send it signals.
func startProcess(t *testing.T, sc Scenario) (*process, *host) {
	t.Helper()
	var p *process
	ready := make(chan struct{})
	h := startWatched(t, sc, func(started *process) func() {
		p = started
		close(ready)
		return func() {}
	})
	<-ready
	return p, h
}

func drained(h *host, kind string) bool {
	found := false
	for f := h.next(); f != nil; f = h.next() {
		found = found || strings.HasPrefix(kindOf(f), kind)
	}
	return found
}

// TestFatalInput lists the lines that end the process.
func TestFatalInput(t *testing.T) {
	for _, line := range []string{
		"not json", `{"type":"user","message":{"role":"assistant","content":"x"}}`, `{"type":"control_request","request_id":"a"}`,
	} {
		h := start(t, Scenario{})
		h.line("")
		h.line(`{"type":"no_such_type"}`)
		h.line(`{"type":"keep_alive"}`)
		h.line(line)
		if code := h.wait(); code != 1 || h.stderr.String() == "" {
			t.Errorf("%s: exit code %d, stderr %q", line, code, h.stderr)
		}
	}
}

// TestUnknownResume ends with a result and without init.
func TestUnknownResume(t *testing.T) {
	h := start(t, Scenario{UnknownResume: true}, "--resume=44444444-4444-4444-8444-444444444444")
	f := h.next()
	if kindOf(f) != "result/error_during_execution" || f["is_error"] != true {
		t.Errorf("got %v", f)
	}
	if code := h.wait(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

var errNever = errors.New("never")

// TestFirstSevere: the end of the process outranks everything else.
func TestFirstSevere(t *testing.T) {
	if err := firstSevere([]error{nil, errAbortedTools, errExit, errNever}); err != errExit {
		t.Errorf("got %v", err)
	}
	if err := firstSevere([]error{nil, nil}); err != nil {
		t.Errorf("got %v", err)
	}
	if err := firstSevere([]error{nil, errNever}); !errors.Is(err, errNever) {
		t.Errorf("got %v", err)
	}
}
