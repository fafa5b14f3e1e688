package script

import (
	"strings"
	"testing"
)

const askAll = `--settings={"permissions":{"ask":["*"]}}`

func hookAnswer(decision, reason string) map[string]any {
	return map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}}
}

// TestPermissionAnswer: only a valid allow runs a call.
func TestPermissionAnswer(t *testing.T) {
	input := map[string]any{"command": "touch x"}
	for _, tt := range []struct {
		name    string
		body    any
		err     string
		result  string
		failed  bool
		denials int
	}{
		{name: "allow", body: map[string]any{"behavior": "allow", "updatedInput": input}, result: "output"},
		{name: "deny", body: map[string]any{"behavior": "deny", "message": "rule 7"}, result: "rule 7", failed: true, denials: 1},
		{name: "allow without input", body: map[string]any{"behavior": "allow"}, result: "updatedInput", failed: true, denials: 1},
		{name: "deny without message", body: map[string]any{"behavior": "deny"}, result: "message", failed: true, denials: 1},
		{name: "neither", body: map[string]any{"behavior": "maybe"}, result: "neither", failed: true, denials: 1},
		{name: "not an object", body: "yes", result: "ZodError", failed: true, denials: 1},
		{name: "error", err: "engine down", result: "engine down", failed: true, denials: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, oneTool(bash("touch x")))
			h.initialize()
			h.say("go")
			q := h.until("control_request/can_use_tool")
			if tt.err != "" {
				h.answerError(q, tt.err)
			} else {
				h.answer(q, tt.body)
			}
			h.answer(q, map[string]any{"behavior": "allow", "updatedInput": input}) // a second answer is ignored
			content, failed := toolResult(h.until("user"))
			if !strings.Contains(content, tt.result) || failed != tt.failed {
				t.Errorf("tool_result = %q, %v, want %q, %v", content, failed, tt.result, tt.failed)
			}
			r := h.until("result")
			if denials := at(r, "permission_denials").([]any); len(denials) != tt.denials || r["is_error"] != false {
				t.Errorf("result = %v, want %d denials", r, tt.denials)
			}
			if code := h.end(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestAsked lists which calls are put to the host.
func TestAsked(t *testing.T) {
	read := Tool{Name: "Read", Input: map[string]any{"file_path": "/x"}, Output: quoted("a\nb")}
	for _, tt := range []struct {
		name string
		tool Tool
		sc   Scenario
		args []string
		want string // decision_reason_type; "-": not asked; "none": asked without
	}{
		{name: "write by default", tool: bash("touch x"), want: "none"},
		{name: "read-only by default", tool: bash("ls -la"), want: "-"},
		{name: "read by default", tool: read, want: "-"},
		{name: "read-only with ask all", tool: bash("ls"), args: []string{askAll}, want: "rule"},
		{name: "managed ask all", tool: read, args: []string{`--managed-settings={"permissions":{"ask":["*"]}}`}, want: "rule"},
		{name: "ask all in bypass mode", tool: bash("touch x"), args: []string{askAll, "--permission-mode", "bypassPermissions"}, want: "rule"},
		{name: "bypass mode", tool: bash("touch x"), args: []string{"--permission-mode", "bypassPermissions"}, want: "-"},
		{name: "allowed tool", tool: bash("touch x"), args: []string{"--allowedTools", "Read,Bash(touch *)"}, want: "-"},
		{name: "allowed tool with ask all", tool: bash("touch x"), args: []string{"--allowedTools", "Bash", askAll}, want: "rule"},
		{name: "dropped settings", tool: bash("ls"), args: []string{askAll}, sc: Scenario{SettingsDropped: &SettingsDropped{}}, want: "-"},
		{name: "question in bypass mode", tool: Tool{Name: "AskUserQuestion"}, args: []string{"--permission-mode", "bypassPermissions"}, want: "none"},
		{name: "no ask", tool: bash("touch x"), args: []string{askAll}, sc: Scenario{NoAsk: true}, want: "-"},
		{name: "unmediated", tool: Tool{Name: "Bash", Input: map[string]any{"command": "rm x"}, Unmediated: true}, args: []string{askAll}, want: "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.sc.Turns = oneTool(tt.tool).Turns
			h := start(t, tt.sc, tt.args...)
			h.initialize()
			h.say("go")
			h.until("assistant")
			f := h.next()
			if tt.want == "-" {
				if _, failed := toolResult(f); kindOf(f) != "user" || failed {
					t.Fatalf("got %v, want the tool's result", f)
				}
				h.until("result")
				return
			}
			kind, _ := at(f, "request", "decision_reason_type").(string)
			if kindOf(f) != "control_request/can_use_tool" || kind != strings.TrimPrefix(tt.want, "none") {
				t.Fatalf("got %v, want can_use_tool of type %s", f, tt.want)
			}
			h.allow(f)
			h.until("result")
		})
	}
}

// TestPreToolUse: hooks fail open, deny is final, ask asks.
func TestPreToolUse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		body   any
		err    string
		asked  bool
		result string
		failed bool
		reason string // terminal_reason
	}{
		{name: "nothing", body: map[string]any{}, result: "output"},
		{name: "deny", body: hookAnswer("deny", "no ls"), result: "no ls", failed: true},
		{name: "ask", body: hookAnswer("ask", "policy"), asked: true, result: "output"},
		{name: "allow", body: hookAnswer("allow", ""), result: "output"},
		{name: "legacy block", body: map[string]any{"decision": "block", "reason": "old no"}, result: "old no", failed: true},
		{name: "error", err: "crashed", result: "output"},
		{name: "outside the schema", body: hookAnswer("perhaps", ""), result: "output"},
		{name: "not an object", body: 7, result: "output"},
		{name: "wrong event", body: map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "Stop"}}, result: textRefused, failed: true},
		{name: "stop", body: map[string]any{"continue": false}, result: "output", reason: "hook_stopped"},
		{name: "new input", body: map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": "PreToolUse", "updatedInput": map[string]any{"command": "touch y"}}}, asked: true, result: "output"},
		{name: "bad input", body: map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": "PreToolUse", "updatedInput": map[string]any{"command": 1}}}, result: "InputValidationError", failed: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, oneTool(bash("ls")))
			h.initialize("PreToolUse")
			h.say("go")
			q := h.until("control_request/hook_callback")
			if tt.err != "" {
				h.answerError(q, tt.err)
			} else {
				h.answer(q, tt.body)
			}
			f := h.next()
			if tt.asked {
				if kindOf(f) != "control_request/can_use_tool" {
					t.Fatalf("got %v, want can_use_tool", f)
				}
				h.allow(f)
				f = h.next()
			}
			if content, failed := toolResult(f); !strings.Contains(content, tt.result) || failed != tt.failed {
				t.Errorf("tool_result = %q, %v, want %q, %v", content, failed, tt.result, tt.failed)
			}
			r := h.until("result")
			if want := max(tt.reason, "completed"); r["terminal_reason"] != want {
				t.Errorf("terminal_reason = %v, want %s", r["terminal_reason"], want)
			}
		})
	}
}

// TestUpdatedToolOutput: an output is replaced only by one of the same shape.
func TestUpdatedToolOutput(t *testing.T) {
	secret := Tool{Name: "Read", Input: map[string]any{"file_path": "/x"}, Output: quoted("hunter2")}
	mcp := Tool{Name: "mcp__lab__echo", Output: quoted("hunter2")}
	bashOut := map[string]any{"stdout": "clean", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false}
	file := map[string]any{"type": "text", "file": map[string]any{
		"filePath": "/x", "content": "clean", "numLines": 1, "startLine": 1, "totalLines": 1}}
	blocks := []any{map[string]any{"type": "text", "text": "clean"}}
	for _, tt := range []struct {
		name  string
		tool  Tool
		field string
		value any
		clean bool
	}{
		{"bash", bash("ls"), "updatedToolOutput", bashOut, true},
		{"bash, wrong shape", bash("ls"), "updatedToolOutput", "clean", false},
		{"bash, key missing", bash("ls"), "updatedToolOutput", map[string]any{"stdout": "clean"}, false},
		{"read", secret, "updatedToolOutput", file, true},
		{"mcp", mcp, "updatedMCPToolOutput", blocks, true},
		{"mcp, wrong field", mcp, "updatedToolOutput", blocks, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, oneTool(tt.tool), "--allowedTools", "mcp__lab__echo")
			h.initialize("PostToolUse")
			h.say("go")
			q := h.until("control_request/hook_callback")
			if at(q, "request", "input", "tool_response") == nil {
				t.Fatalf("no tool_response in %v", q)
			}
			h.answer(q, map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PostToolUse", tt.field: tt.value}})
			content, _ := toolResult(h.until("user"))
			if strings.Contains(content, "clean") != tt.clean {
				t.Errorf("tool_result = %q, replaced should be %v", content, tt.clean)
			}
			h.until("result")
		})
	}
}

// TestToolFailure: a failing call goes to PostToolUseFailure.
func TestToolFailure(t *testing.T) {
	h := start(t, oneTool(Tool{Name: "Bash", Input: map[string]any{"command": "ls"}, Error: "exit code 2"}))
	h.initialize("PostToolUse", "PostToolUseFailure")
	h.say("go")
	q := h.until("control_request/hook_callback")
	if name := at(q, "request", "input", "hook_event_name"); name != "PostToolUseFailure" {
		t.Fatalf("hook = %v, want PostToolUseFailure", name)
	}
	h.answer(q, map[string]any{})
	if content, failed := toolResult(h.until("user")); content != "exit code 2" || !failed {
		t.Errorf("tool_result = %q, %v", content, failed)
	}
}

// TestRules covers deny rules and the tool list.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tool    Tool
		args    []string
		frame   bool // announced with system/permission_denied
		denials int
	}{
		{"scoped deny flag", bash("rm a.txt"), []string{"--disallowedTools", "WebFetch,Bash(rm *)"}, true, 1},
		{"deny setting", Tool{Name: "Read", Input: map[string]any{"file_path": "/etc/shadow"}}, []string{`--settings={"permissions":{"deny":["Read(//etc/shadow)"]}}`}, true, 1},
		{"deny by pattern", Tool{Name: "Read", Input: map[string]any{"file_path": "/a/b/.env"}}, []string{`--settings={"permissions":{"deny":["Read(**/.env)"]}}`}, true, 1},
		{"bare deny flag", bash("ls"), []string{"--disallowed-tools=Bash"}, false, 0},
		{"not among tools", bash("ls"), []string{"--tools", "Read"}, false, 0},
		{"invalid input", Tool{Name: "Bash"}, nil, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, oneTool(tt.tool), tt.args...)
			h.initialize()
			h.say("go")
			h.until("assistant")
			f := h.next()
			if (kindOf(f) == "system/permission_denied") != tt.frame {
				t.Fatalf("got %v, permission_denied wanted: %v", f, tt.frame)
			}
			if tt.frame {
				f = h.next()
			}
			if content, failed := toolResult(f); !failed {
				t.Errorf("tool_result = %q, not an error", content)
			}
			if r := h.until("result"); len(at(r, "permission_denials").([]any)) != tt.denials {
				t.Errorf("denials = %v, want %d", r["permission_denials"], tt.denials)
			}
		})
	}
}

// TestUpdatedPermissions: a session rule stops the asking, but not under ask all.
func TestUpdatedPermissions(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		asked int
	}{{nil, 1}, {[]string{askAll}, 2}} {
		one := bash("touch x")
		h := start(t, Scenario{Turns: [][]Step{{{Tool: &one}, {Tool: &one}, {Text: "done"}}}}, tt.args...)
		h.initialize()
		h.say("go")
		asked := 0
		for f := h.next(); kindOf(f) != "result/success"; f = h.next() {
			if kindOf(f) != "control_request/can_use_tool" {
				continue
			}
			asked++
			h.answer(f, map[string]any{
				"behavior": "allow", "updatedInput": at(f, "request", "input"),
				"updatedPermissions": []any{map[string]any{"type": "addRules", "behavior": "allow", "destination": "session",
					"rules": []any{map[string]any{"toolName": "Bash", "ruleContent": "touch *"}}}},
			})
		}
		if asked != tt.asked {
			t.Errorf("%v: asked %d times, want %d", tt.args, asked, tt.asked)
		}
	}
}
