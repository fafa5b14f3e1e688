package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scenarioEngine is an engine whose CLI plays scenario.
func scenarioEngine(t *testing.T, scenario string) *engine.Engine {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file},
		Roots: []string{t.TempDir()}, TempDir: t.TempDir(), ApprovalTimeout: 2 * time.Minute,
		Deciders: []permission.Decider{rules{}}, Admission: []admission.Decider{&admitter{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// syncServer is a client of a server over e with Options.Sync.
func syncServer(t *testing.T, e *engine.Engine) *mcp.ClientSession {
	t.Helper()
	return connectTo(t, t.Context(), New(e, &Options{Sync: true}))
}

const bashOnce = `{"tool":{"name":"Bash","input":{"command":"%s"},"output":"ran"}}`

// A call with timeout answers once, with everything there is to know of the turn.
func TestBlockingAnswer(t *testing.T) {
	e := scenarioEngine(t, `{"turns":[[`+fmt.Sprintf(bashOnce, "no way")+`,{"text":"Done."},{"result":{"structured_output":{"n":1}}}],
		[{"text":"again"}],[{"result":{"subtype":"error_max_turns","is_error":true}}]]}`)
	c := connect(t, e, nil)
	m := must(t, c, startTool, `{"prompt":"x","timeout":120000}`)
	for name, want := range map[string]string{
		"status": "idle", "result": "Done.", "isError": "false", "numTurns": "2", "totalCostUsd": "0.002", "sessionTotalTurns": "2",
		"sessionTotalCostUsd": "0.002", "stopReason": "end_turn", "structuredOutput": "map[n:1]",
	} {
		if got := fmt.Sprint(m[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"sessionId", "durationMs", "durationApiMs", "usage", "modelUsage"} {
		if m[name] == nil {
			t.Errorf("%s is missing: %v", name, m)
		}
	}
	if denials, _ := m["permissionDenials"].([]any); len(denials) != 1 || denials[0].(map[string]any)["tool_name"] != "Bash" {
		t.Errorf("permissionDenials: %v", m["permissionDenials"])
	}
	for _, name := range []string{"pollInterval", "actions", "nextCursor", "errorSubtype", "errorType", "code", "error"} {
		if m[name] != nil {
			t.Errorf("%s is there: %v", name, m[name])
		}
	}
	id := m["sessionId"].(string)
	m = must(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"x","timeout":120000}`)
	if m["result"] != "again" || m["numTurns"] != 1.0 || m["sessionTotalTurns"] != 3.0 || fmt.Sprint(m["permissionDenials"]) != "[]" {
		t.Errorf("reply: %v", m)
	}
	m, isError := use(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"x","timeout":120000}`)
	if !isError || m["isError"] != true || m["status"] != "error" || m["errorSubtype"] != "error_max_turns" || m["error"] != nil {
		t.Errorf("a turn that failed: %v", m)
	}
}

// What was covered in a result is told beside it.
func TestBlockingAnswerTellsRedactions(t *testing.T) {
	c := serveRedacted(t, `{"turns":[[{"text":"it is `+unshown+`"}]]}`)
	m := must(t, c, startTool, `{"prompt":"x","timeout":120000}`)
	covered, _ := m["redactions"].([]any)
	if m["result"] != "it is [x]" || len(covered) != 1 || covered[0].(map[string]any)["detector"] != "d" {
		t.Errorf("result %q, redactions %v", m["result"], covered)
	}
}

// A fork that is waited for has an id and totals of its own.
func TestBlockingFork(t *testing.T) {
	e := scenarioEngine(t, `{"turns":[[{"text":"one"}]],"resume_turns":[[{"text":"forked"}]]}`)
	c := connect(t, e, nil)
	id := must(t, c, startTool, `{"prompt":"x","timeout":120000}`)["sessionId"].(string)
	m := must(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"x","forkSession":true,"timeout":120000,"model":"m"}`)
	if m["sessionId"] == id || m["result"] != "forked" || m["sessionTotalTurns"] != 1.0 {
		t.Errorf("got %v", m)
	}
	if warned := fmt.Sprint(m["warnings"]); !strings.Contains(warned, "not used: model") {
		t.Errorf("warnings: %v", warned)
	}
}

// What is refused before there is a turn has the shape of every error.
func TestBlockingRefusals(t *testing.T) {
	e := scenarioEngine(t, `{"turns":[[{"text":"one"}]]}`)
	c, first := connect(t, e, nil), syncServer(t, e)
	for _, tt := range []struct {
		c                      *mcp.ClientSession
		tool, args, code, want string
	}{
		{c, startTool, `{"prompt":"x","timeout":5000,"mcpServers":{}}`, "PERMISSION_DENIED", "test.grant"},
		{c, startTool, `{"prompt":"x","timeout":5000,"waitMs":1}`, "INVALID_ARGUMENT", "waitMs: a call with timeout answers when its turn has ended"},
		{c, startTool, `{"prompt":"x","timeout":5000,"cwd":"nowhere"}`, "INVALID_ARGUMENT", "no such folder"},
		{c, "claude_code_reply", `{"sessionId":"s","prompt":"x","timeout":5000}`, "SESSION_NOT_FOUND", "is not known"},
		{c, "claude_code_reply", `{"sessionId":"s","prompt":"x","timeout":5000,"waitMs":9}`, "INVALID_ARGUMENT", "leave waitMs out"},
		{first, startTool, `{"prompt":"x","waitMs":20}`, "INVALID_ARGUMENT", "waitMs: the server answers when a turn has ended ([tools] sync)"},
		{first, "claude_code_reply", `{"sessionId":"s","prompt":"x"}`, "SESSION_NOT_FOUND", "is not known"},
	} {
		if got := refused(t, tt.c, tt.tool, tt.args, tt.code); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
	if list := must(t, c, sessionTool, `{"action":"list"}`); len(list["sessions"].([]any)) != 0 {
		t.Errorf("a refused start left %v", list)
	}
}

// With Options.Sync every call waits, and a session without permissionMode is
// never asked about.
func TestSyncServer(t *testing.T) {
	e := scenarioEngine(t, `{"turns":[[`+fmt.Sprintf(bashOnce, "unknown")+`,{"text":"Done."}],[{"text":"again"}]]}`)
	c := syncServer(t, e)
	m := must(t, c, startTool, `{"prompt":"x","waitMs":0}`)
	if m["status"] != "idle" || m["result"] != "Done." || !strings.Contains(fmt.Sprint(m["permissionDenials"]), "Bash") {
		t.Errorf("start: %v", m)
	}
	id := m["sessionId"].(string)
	if m := must(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"x"}`); m["result"] != "again" {
		t.Errorf("reply: %v", m)
	}
	view := must(t, c, sessionTool, `{"action":"get","sessionId":"`+id+`"}`)["sessions"].([]any)[0].(map[string]any)
	if view["permissionMode"] != "dontAsk" {
		t.Errorf("permissionMode: %v", view["permissionMode"])
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := list.Tools[0].Description; list.Tools[0].Name != startTool || !strings.Contains(d, "Returns when the turn has ended") || strings.Contains(d, "pollInterval") {
		t.Errorf("described as %q", d)
	}
}

// begunCall is a call under way.
type begunCall struct {
	done   chan *mcp.CallToolResult
	cancel context.CancelFunc
}

func begin(t *testing.T, c *mcp.ClientSession, tool, args string) begunCall {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b := begunCall{make(chan *mcp.CallToolResult, 1), cancel}
	go func() { // ends with the call
		res, _ := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args), Meta: mcp.Meta{"progressToken": "p"}})
		b.done <- res
	}()
	t.Cleanup(cancel)
	return b
}

// the only session there is, once its status is the one wanted.
func soleSession(t *testing.T, c *mcp.ClientSession, status string) string {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		list := must(t, c, sessionTool, `{"action":"list"}`)["sessions"].([]any)
		if len(list) == 1 {
			if s := list[0].(map[string]any); s["status"] == status {
				return s["sessionId"].(string)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no session is %s: %v", status, list)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// untilInit waits until the CLI has told of the session.
func untilInit(t *testing.T, c *mcp.ClientSession, id string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !strings.Contains(fmt.Sprint(must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)["events"]), "type:init") {
		if time.Now().After(deadline) {
			t.Fatal("the CLI never told of the session")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A question of a turn that a call waits for is answered by another call of the
// same connection.
func TestQuestionWhileACallWaits(t *testing.T) {
	told := make(chan string, 16)
	c := connect(t, scenarioEngine(t, `{"turns":[[`+fmt.Sprintf(bashOnce, "unknown")+`,{"text":"Done."}]]}`), &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Message },
	})
	b := begin(t, c, startTool, `{"prompt":"x","timeout":120000}`)
	id := soleSession(t, c, "waiting_permission")
	if first := <-told; !strings.Contains(first, id) {
		t.Errorf("progress %q does not name session %s", first, id)
	}
	actions := must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)["actions"].([]any)
	request := actions[0].(map[string]any)["requestId"].(string)
	must(t, c, "claude_code_check", `{"action":"respond_permission","decision":"allow","sessionId":"`+id+`","requestId":"`+request+`"}`)
	res := <-b.done
	if m, _ := res.StructuredContent.(map[string]any); res.IsError || m["sessionId"] != id || m["result"] != "Done." || fmt.Sprint(m["permissionDenials"]) != "[]" {
		t.Errorf("got %v", res.StructuredContent)
	}
}

// A turn over its time ends as an error that says so, and can be continued.
func TestTurnOverItsTimeout(t *testing.T) {
	c := connect(t, scenarioEngine(t, `{"turns":[[{"wait_interrupt":true}]],"resume_turns":[[{"text":"went on"}]]}`), nil)
	m, isError := use(t, c, startTool, `{"prompt":"x","timeout":4000}`)
	text, _ := m["result"].(string)
	if !isError || m["status"] != "error" || m["isError"] != true || m["code"] != "TIMEOUT" || !strings.HasPrefix(text, "Error [TIMEOUT]: ") || !strings.Contains(text, "4s") {
		t.Errorf("got %v", m)
	}
	if m := must(t, c, "claude_code_reply", `{"sessionId":"`+m["sessionId"].(string)+`","prompt":"x","timeout":120000}`); m["result"] != "went on" {
		t.Errorf("continued: %v", m)
	}
}

// A client that gives a call up ends the turn it waited for, not the session.
func TestClientGivesACallUp(t *testing.T) {
	c := connect(t, scenarioEngine(t, `{"turns":[[{"wait_interrupt":true}]],"resume_turns":[[{"text":"went on"}]]}`), nil)
	b := begin(t, c, startTool, `{"prompt":"x","timeout":600000}`)
	id := soleSession(t, c, "running")
	untilInit(t, c, id) // a session the CLI never told of would begin anew
	b.cancel()
	<-b.done
	soleSession(t, c, "error")
	m := must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)
	result, _ := m["result"].(map[string]any)
	if text, _ := result["result"].(string); result["code"] != "CANCELLED" || !strings.HasPrefix(text, "Error [CANCELLED]: ") || !strings.Contains(text, "client") {
		t.Errorf("result: %v", result)
	}
	if m := must(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"x","timeout":120000}`); m["result"] != "went on" {
		t.Errorf("continued: %v", m)
	}
}

// The end of a connection ends no turn: the engine's owner does.
func TestConnectionEndsWhileACallWaits(t *testing.T) {
	e := scenarioEngine(t, `{"turns":[[{"wait_interrupt":true}]]}`)
	other := connect(t, e, nil)
	in, client := io.Pipe()
	server, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), New(e, nil), Transport(in, out, nil)) }() // ends with in
	replies := json.NewDecoder(server)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"claude_code","arguments":{"prompt":"x","timeout":600000}}}`,
	} {
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var reply json.RawMessage
		if strings.Contains(line, `"id":1`) && replies.Decode(&reply) != nil {
			t.Fatal("no answer to initialize")
		}
	}
	go io.Copy(io.Discard, server) // ends with the pipe
	id := soleSession(t, other, "running")
	untilInit(t, other, id)
	client.Close()
	<-done // the call has returned by now
	server.Close()
	m := must(t, other, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","waitMs":300,"includeEvents":false}`)
	if m["status"] != "running" {
		t.Errorf("the turn ended with the connection: %v", m)
	}
}
