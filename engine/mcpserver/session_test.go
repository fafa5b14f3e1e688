package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain makes the test binary the CLI too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(script.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	// The developer's own MCP servers are not a test's.
	os.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(os.TempDir(), "gatehouse-test-no-config"))
	os.Exit(testleak.Run(m, "cli.init.func"))
}

// rules decides by the start of a Bash command: "ok", "no", else ask.
type rules struct{}

func (rules) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	var in struct{ Command string }
	_ = json.Unmarshal(r.Input, &in)
	switch {
	case strings.HasPrefix(in.Command, "ok"):
		return permission.Decision{Effect: permission.Allow, Rule: "test.ok", By: "policy"}, nil
	case strings.HasPrefix(in.Command, "no"):
		return permission.Decision{Effect: permission.Deny, Rule: "test.no", Reason: "forbidden", By: "policy"}, nil
	}
	return permission.Decision{Effect: permission.Ask, Rule: "test.ask", Reason: "not known", By: "policy"}, nil
}

func (rules) Revision() string { return "1" }

// admitter admits all but mcpServers, and keeps the last start's parameters.
type admitter struct {
	mu     sync.Mutex
	params []string
}

func (a *admitter) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if r.Parameters["mcpServers"] != nil {
		return permission.Decision{Effect: permission.Deny, Rule: "test.grant", Reason: "mcpServers needs a grant"}, nil
	}
	if r.Action == admission.Start {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.params = nil
		for name := range r.Parameters {
			a.params = append(a.params, name)
		}
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
}

// serveScenario is a client of an engine whose CLI plays scenario, and the
// admitter that saw its starts.
func serveScenario(t *testing.T, scenario string, opts *mcp.ClientOptions) (*mcp.ClientSession, *admitter) {
	t.Helper()
	root := t.TempDir()
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	who := &admitter{}
	eng, err := engine.New(engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file},
		Roots: []string{root}, TempDir: t.TempDir(),
		Deciders: []permission.Decider{rules{}}, Admission: []admission.Decider{who},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := eng.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return connect(t, eng, opts), who
}

// must calls a tool that has to succeed.
func must(t *testing.T, c *mcp.ClientSession, tool, args string) map[string]any {
	t.Helper()
	m, isError := use(t, c, tool, args)
	if isError {
		t.Fatalf("%s %s: %v", tool, args, m["error"])
	}
	return m
}

// refused calls a tool that has to answer code.
func refused(t *testing.T, c *mcp.ClientSession, tool, args, code string) string {
	t.Helper()
	m, isError := use(t, c, tool, args)
	if !isError || m["code"] != code {
		t.Fatalf("%s %s: got %v, want %s", tool, args, m, code)
	}
	return m["error"].(string)
}

func kinds(m map[string]any) (out []string) {
	for _, e := range m["events"].([]any) {
		out = append(out, e.(map[string]any)["type"].(string))
	}
	return out
}

const oneQuestion = `{"turns":[
	[{"text":"I look."},{"tool":{"name":"Bash","input":{"command":"ok ls"},"output":"a"}},
	 {"tool":{"name":"Bash","input":{"command":"no rm"},"output":"gone"}},
	 {"tool":{"name":"Bash","input":{"command":"push"},"output":"pushed"}},{"text":"done"}],
	[{"text":"second"}]]}`

func TestSessionFromStartToReply(t *testing.T) {
	c, who := serveScenario(t, oneQuestion, nil)
	a := must(t, c, "claude_code", `{"prompt":"go","waitMs":20000,"env":{"CI":"1"},"model":null}`)
	id := a["sessionId"].(string)
	if a["status"] != "waiting_permission" || a["pollInterval"] != 1000.0 || a["nextCursor"] != 0.0 {
		t.Fatalf("start: %v", a)
	}
	if slices.Sort(who.params); !slices.Equal(who.params, []string{"env.CI", "prompt", "waitMs"}) {
		t.Errorf("policy saw parameters %v", who.params)
	}
	action := a["actions"].([]any)[0].(map[string]any)
	if action["toolName"] != "Bash" || action["rule"] != "test.ask" || action["input"].(map[string]any)["command"] != "push" {
		t.Errorf("action: %v", action)
	}

	a = must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","includeTools":true}`)
	got := kinds(a)
	for _, want := range []string{"output", "tool_result", "permission_result", "permission_request"} {
		if !slices.Contains(got, want) {
			t.Errorf("events %v lack %s", got, want)
		}
	}
	cursor, _ := encode(a["nextCursor"])

	respond := `{"action":"respond_permission","sessionId":"` + id + `","requestId":"` + action["requestId"].(string) + `",`
	refused(t, c, "claude_code_check", `{"action":"respond_permission","sessionId":"`+id+`","requestId":"none","decision":"allow"}`, "PERMISSION_REQUEST_NOT_FOUND")
	refused(t, c, "claude_code_check", respond+`"decision":"allow","updatedInput":{"command":"no rm"}}`, "PERMISSION_DENIED")
	a = must(t, c, "claude_code_check", respond+`"decision":"allow","waitMs":20000}`)
	if a["status"] != "idle" || a["result"].(map[string]any)["result"] != "done" || len(a["events"].([]any)) != 0 || a["nextCursor"] != nil {
		t.Errorf("after the answer: %v", a)
	}
	refused(t, c, "claude_code_check", respond+`"decision":"deny"}`, "PERMISSION_REQUEST_NOT_FOUND")

	a = must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","cursor":`+string(cursor)+`}`)
	if got := kinds(a); slices.Contains(got, "result") || !slices.Contains(got, "permission_result") || a["actions"] != nil {
		t.Errorf("incremental poll: %v", a)
	}

	a = must(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"more","waitMs":20000}`)
	if a["status"] != "idle" || a["result"].(map[string]any)["result"] != "second" || a["sessionId"] != id {
		t.Errorf("reply: %v", a)
	}
}

func TestSessionListGetCancel(t *testing.T) {
	c, _ := serveScenario(t, `{"turns":[[{"wait_interrupt":true}]]}`, nil)
	if a := must(t, c, "claude_code_session", `{"action":"list","sessionId":""}`); len(a["sessions"].([]any)) != 0 {
		t.Errorf("empty list: %v", a)
	}
	a := must(t, c, "claude_code", `{"prompt":"go","systemPrompt":"be brief","maxTurns":3,"env":{"CI":"hidden-value"}}`)
	id := a["sessionId"].(string)
	if len(a) != 3 || a["status"] != "running" || a["pollInterval"] != 3000.0 {
		t.Errorf("start: %v", a)
	}
	refused(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"more"}`, "SESSION_BUSY")

	a = must(t, c, "claude_code_session", `{"action":"get","sessionId":"`+id+`"}`)
	b, _ := encode(a)
	view := a["sessions"].([]any)[0].(map[string]any)
	if view["maxTurns"] != 3.0 || view["permissionMode"] != "default" || view["persistSession"] != true {
		t.Errorf("get: %s", b)
	}
	for _, hidden := range []string{"cwd", "systemPrompt", "hidden-value", "prompt", "agents"} {
		if strings.Contains(string(b), hidden) {
			t.Errorf("get shows %s: %s", hidden, b)
		}
	}
	a = must(t, c, "claude_code_session", `{"action":"list","includeSensitive":true}`)
	b, _ = encode(a)
	if view = a["sessions"].([]any)[0].(map[string]any); view["systemPrompt"] != "be brief" || view["cwd"] == nil || strings.Contains(string(b), "hidden-value") {
		t.Errorf("sensitive: %s", b)
	}

	a = must(t, c, "claude_code_session", `{"action":"cancel","sessionId":"`+id+`"}`)
	if view = a["sessions"].([]any)[0].(map[string]any); view["status"] != "cancelled" || view["cancelledReason"] != "Cancelled by caller" || a["message"] == nil {
		t.Errorf("cancel: %v", a)
	}
	a = must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","waitMs":5000}`)
	if a["status"] != "cancelled" || a["cancelledSource"] != "claude_code_session" || a["result"] != nil || a["pollInterval"] != nil {
		t.Errorf("poll: %v", a)
	}
	refused(t, c, "claude_code_reply", `{"sessionId":"`+id+`","prompt":"more"}`, "CANCELLED")
}

func TestSessionRefusals(t *testing.T) {
	c, _ := serveScenario(t, `{"never_init":true}`, nil)
	refused(t, c, "claude_code_check", `{"action":"poll","sessionId":"x"}`, "SESSION_NOT_FOUND")
	refused(t, c, "claude_code_session", `{"action":"cancel","sessionId":"x"}`, "SESSION_NOT_FOUND")
	refused(t, c, "claude_code_reply", `{"sessionId":"x","prompt":"p"}`, "SESSION_NOT_FOUND")
	if text := refused(t, c, "claude_code", `{"prompt":"p","mcpServers":{"s":{"command":"c"}}}`, "PERMISSION_DENIED"); !strings.Contains(text, "test.grant") {
		t.Errorf("refusal names no rule: %s", text)
	}
	refused(t, c, "claude_code", `{"prompt":"p","cwd":"/no/such/folder"}`, "INVALID_ARGUMENT")
	refused(t, c, "claude_code", `{"prompt":"p","sessionInitTimeoutMs":300}`, "TIMEOUT")
}

// A CLI that dies at once, or while a question waits, ends its session only,
// and says why.
func TestSessionOfDyingCLI(t *testing.T) {
	c, _ := serveScenario(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"push"},"die":{"code":3,"stderr":"login expired"}}}]]}`, nil)
	a := must(t, c, "claude_code", `{"prompt":"go"}`)
	id := a["sessionId"].(string)
	for deadline := time.Now().Add(20 * time.Second); a["status"] != "error" && time.Now().Before(deadline); {
		a = must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","waitMs":1000,"includeEvents":false}`)
	}
	b, _ := encode(a)
	if a["status"] != "error" || !strings.Contains(string(b), "login expired") || a["actions"] != nil {
		t.Errorf("after the end of the CLI: %s", b)
	}
	must(t, c, "claude_code_session", `{"action":"list"}`)

	c, _ = serveScenario(t, `{"exit_at_start":{"code":1,"stderr":"no licence"}}`, nil)
	m, isError := use(t, c, "claude_code", `{"prompt":"go"}`)
	if text, _ := m["error"].(string); !isError || !strings.Contains(text, "no licence") {
		t.Errorf("CLI that exits at once: %v", m)
	}
}

// Progress is sent during a wait only if the client asked for it, and a call
// that the client gives up ends at once without harm to the session.
func TestWaitIsCancelledWithTheCall(t *testing.T) {
	c, _ := serveScenario(t, `{"turns":[[{"wait_interrupt":true}]]}`, nil)
	id := must(t, c, "claude_code", `{"prompt":"go"}`)["sessionId"].(string)
	next, _ := encode(must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)["nextCursor"])
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "claude_code_check", Arguments: json.RawMessage(
		`{"action":"poll","sessionId":"` + id + `","cursor":` + string(next) + `,"waitMs":55000}`)})
	if err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("cancelled call: %v after %v", err, time.Since(begin))
	}
	if a := must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`); a["status"] != "running" {
		t.Errorf("session after a cancelled poll: %v", a["status"])
	}
}

// An answer's updatedInput reaches the CLI byte for byte.
func TestUpdatedInputIsKeptAsSent(t *testing.T) {
	c, _ := serveScenario(t, `{"no_hooks":true,"turns":[[{"tool":{"name":"Bash","input":{"command":"push"},"output":"x"}},{"reveal":"answer"}]]}`, nil)
	a := must(t, c, "claude_code", `{"prompt":"go","waitMs":20000}`)
	id, request := a["sessionId"].(string), a["actions"].([]any)[0].(map[string]any)["requestId"].(string)
	changed := `{"command":"push <b>","n":1e2,"big":12345678901234567890,"command2":"\u0061"}`
	a = must(t, c, "claude_code_check", `{"action":"respond_permission","sessionId":"`+id+`","requestId":"`+request+`","decision":"allow","updatedInput":`+changed+`,"waitMs":20000}`)
	text, _ := a["result"].(map[string]any)["result"].(string)
	for _, want := range []string{"1e2", "12345678901234567890"} {
		if !strings.Contains(text, want) {
			t.Errorf("the CLI got %q, want %s in it", text, want)
		}
	}
}
