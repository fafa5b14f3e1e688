package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fits holds an answer against the output schema of its tool, as clients do.
func fits(t *testing.T, tool string, structured any) {
	t.Helper()
	if tool == "claude_code_reply" {
		tool = startTool
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema(tool+".output"), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(structured); err != nil {
		t.Errorf("%s: %v: %v", tool, err, structured)
	}
}

// Short and long limits of a turn, and of its start: each gives one answer, and leaves
// a session that can go on.
func TestOddTimeouts(t *testing.T) {
	c := connect(t, scenarioEngine(t, `{"turns":[[{"text":"one"}],[{"text":"two"}]],"resume_turns":[[{"text":"two"}]]}`), nil)
	for _, tt := range []struct {
		args string
		may  []string // statuses
	}{
		{`"timeout":1`, []string{"error", "idle"}},
		{`"timeout":1,"sessionInitTimeoutMs":1`, []string{"error", "idle"}},
		{`"timeout":86400000,"sessionInitTimeoutMs":86400000`, []string{"idle"}},
		{`"timeout":1,"sessionInitTimeoutMs":86400000,"permissionRequestTimeoutMs":1`, []string{"error", "idle"}},
	} {
		m, isError := use(t, c, startTool, `{"prompt":"x",`+tt.args+`}`)
		if !strings.Contains(strings.Join(tt.may, " "), fmt.Sprint(m["status"])) || isError != (m["status"] == "error") || m["isError"] != isError {
			t.Errorf("%s: %v", tt.args, m)
		}
		if isError && m["code"] != "TIMEOUT" {
			t.Errorf("%s: %v", tt.args, m)
		}
		id, _ := m["sessionId"].(string)
		m, isError = use(t, c, "claude_code_reply", `{"prompt":"x","timeout":120000,"sessionId":"`+id+`"}`)
		if isError || m["status"] != "idle" {
			t.Errorf("%s, then: %v", tt.args, m)
		}
	}
	for _, args := range []string{`"timeout":0`, `"timeout":-1`, `"timeout":86400001`, `"timeout":1.5`, `"timeout":"1"`, `"timeout":1e99`} {
		refused(t, c, startTool, `{"prompt":"x",`+args+`}`, "INVALID_ARGUMENT")
	}
}

// A client that gives a call up while its turn asks withdraws the question.
func TestCallGivenUpWhileItAsks(t *testing.T) {
	c := connect(t, scenarioEngine(t, `{"turns":[[`+fmt.Sprintf(bashOnce, "unknown")+`,{"text":"Done."}]],"resume_turns":[[{"text":"went on"}]]}`), nil)
	b := begin(t, c, startTool, `{"prompt":"x","timeout":600000}`)
	id := soleSession(t, c, "waiting_permission")
	b.cancel()
	<-b.done
	soleSession(t, c, "error")
	m := must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)
	if actions, _ := m["actions"].([]any); len(actions) != 0 {
		t.Errorf("open: %v", actions)
	}
	if text := fmt.Sprint(m["events"]); !strings.Contains(text, "behavior:deny") || strings.Contains(text, "behavior:allow") {
		t.Errorf("events: %s", text)
	}
}

// A session that is cancelled under a call that waits for it answers that call.
func TestCancelledUnderACall(t *testing.T) {
	c := connect(t, scenarioEngine(t, `{"turns":[[{"wait_interrupt":true}]]}`), nil)
	b := begin(t, c, startTool, `{"prompt":"x","timeout":600000}`)
	id := soleSession(t, c, "running")
	untilInit(t, c, id)
	must(t, c, sessionTool, `{"action":"cancel","sessionId":"`+id+`"}`)
	res := <-b.done
	m := res.StructuredContent.(map[string]any)
	fits(t, startTool, m)
	if m["status"] != "cancelled" || !res.IsError || m["isError"] != true || m["sessionId"] != id {
		t.Errorf("got %v", m)
	}
}

// However many calls wait, their sessions are bounded, and they keep no other call from
// being answered.
func TestManyCallsWait(t *testing.T) {
	c := connect(t, scenarioEngine(t, `{"turns":[[{"wait_interrupt":true}]]}`), nil)
	const n = 1000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan *mcp.CallToolResult, n+50)
	for range n + 50 {
		go func() { // ends with the call
			res, _ := c.CallTool(ctx, &mcp.CallToolParams{Name: startTool, Arguments: json.RawMessage(`{"prompt":"x","timeout":86400000}`)})
			done <- res
		}()
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		list := must(t, c, sessionTool, `{"action":"list"}`)["sessions"].([]any)
		if len(list) == n {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions", len(list))
		}
	}
	for range 50 { // there is no room for more
		res := <-done
		m := res.StructuredContent.(map[string]any)
		if fits(t, startTool, m); !res.IsError || m["code"] != "LIMIT" {
			t.Errorf("got %v", m)
		}
	}
	id := must(t, c, sessionTool, `{"action":"list"}`)["sessions"].([]any)[n/2].(map[string]any)["sessionId"].(string)
	must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)
	cancel()
	for range n {
		<-done
	}
}
