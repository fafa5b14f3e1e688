package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect is a client of a server over e, which may be nil when no tool gets
// as far as using it.
func connect(t *testing.T, e *engine.Engine, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server, err := New(e, &Options{Version: "1.2.3"}).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Wait() })
	return client
}

// use calls a tool and returns its structured content, after checking that the
// text says the same.
func use(t *testing.T, c *mcp.ClientSession, tool, args string) (map[string]any, bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	structured, _ := encode(res.StructuredContent)
	var text any
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &text); err != nil {
		t.Fatalf("%s: text is not JSON: %v", tool, err)
	}
	if mirrored, _ := encode(text); string(mirrored) != string(structured) {
		t.Errorf("%s: text %s, structured %s", tool, mirrored, structured)
	}
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("%s: structured content is %T", tool, res.StructuredContent)
	}
	checkOutput(t, tool, m, res.IsError)
	return m, res.IsError
}

// checkOutput holds an answer, errors included, against the output schema:
// clients do, and give the whole call up if it does not fit.
func checkOutput(t *testing.T, tool string, m map[string]any, isError bool) {
	t.Helper()
	if tool == "claude_code_reply" {
		tool = startTool
	}
	var s struct {
		Required   []string
		Properties map[string]any
	}
	if err := json.Unmarshal(schema(tool+".output"), &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range s.Required {
		if m[name] == nil {
			t.Errorf("%s: answer lacks %s: %v", tool, name, m)
		}
	}
	for name, v := range m {
		if s.Properties[name] == nil && !isError || v == nil {
			t.Errorf("%s: %s is null or not in the output schema", tool, name)
		}
	}
	fits(t, tool, m)
}

func TestToolList(t *testing.T) {
	c := connect(t, nil, nil)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := encode(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 13_200 {
		t.Errorf("tools/list has %d bytes, every client's context pays for them", len(b))
	}
	if len(list.Tools) != 4 {
		t.Fatalf("%d tools", len(list.Tools))
	}
	for _, tool := range list.Tools {
		in := tool.InputSchema.(map[string]any)
		if in["additionalProperties"] != false || tool.OutputSchema == nil || tool.Annotations == nil || tool.Annotations.ReadOnlyHint {
			t.Errorf("%s: schema, output schema or annotations missing", tool.Name)
		}
	}
	init := c.InitializeResult()
	if init.Instructions != instructions || init.ServerInfo.Version != "1.2.3" {
		t.Errorf("instructions or version: %+v", init.ServerInfo)
	}
	if caps, err := json.Marshal(init.Capabilities); err != nil || strings.Contains(string(caps), "logging") || init.Capabilities.Tools.ListChanged {
		t.Errorf("capabilities: %s, %v", caps, err)
	}
}

func TestRefusedBeforeTheEngine(t *testing.T) {
	c := connect(t, nil, nil)
	for _, tt := range []struct{ tool, args, want string }{
		{"claude_code", `{}`, "prompt: is required"},
		{"claude_code_reply", `{"sessionId":"s","prompt":"x","resumeTokn":"t"}`, `"resumeTokn": unknown argument; did you mean "resumeToken"?`},
		{"claude_code_reply", `{"sessionId":"s","prompt":"x","resumeToken":""}`, `resumeToken: is blank`},
		{"claude_code_reply", `{"sessionId":"s","prompt":"x","agents":{"a":{}}}`, `agents.a: description: is required`},
		{"claude_code_reply", `{"sessionId":"s"}`, "prompt: is required"},
		{"claude_code_check", `{"sessionId":"s"}`, "action: is required, one of poll, respond_permission"},
		{"claude_code_check", `{"action":"pol","sessionId":"s"}`, `action: "pol" is none of poll, respond_permission; did you mean "poll"?`},
		{"claude_code_check", `{"action":"poll"}`, "sessionId: is required"},
		{"claude_code_check", `{"action":"poll","sessionId":"s","decision":"allow"}`, "decision: goes with action respond_permission only"},
		{"claude_code_check", `{"action":"poll","sessionId":"s","cursor":-1}`, "cursor: want a number from 0"},
		{"claude_code_check", `{"action":"respond_permission","sessionId":"s","decision":"allow"}`, "requestId: is required"},
		{"claude_code_check", `{"action":"respond_permission","sessionId":"s","requestId":"r"}`, "decision: is required"},
		{"claude_code_check", `{"action":"respond_permission","sessionId":"s","requestId":"r","decision":"deny","updatedInput":{}}`, "go with decision allow only"},
		{"claude_code_check", `{"action":"respond_permission","sessionId":"s","requestId":"r","decision":"allow","interrupt":true}`, "go with decision deny only"},
		{"claude_code_check", `{"action":"respond_permission","sessionId":"s","requestId":"r","decision":"allow","updatedPermissions":[1]}`, "updatedPermissions[0]: want an object"},
		{"claude_code_session", `{"action":"list","sessionId":"s"}`, "sessionId: goes with action get or cancel only"},
		{"claude_code_session", `{"action":"cancel"}`, "sessionId: is required"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			m, isError := use(t, c, tt.tool, tt.args)
			if !isError || m["isError"] != true || m["status"] != "error" || m["code"] != "INVALID_ARGUMENT" {
				t.Errorf("shape: %v", m)
			}
			if text, _ := m["error"].(string); !strings.HasPrefix(text, "Error [INVALID_ARGUMENT]: ") || !strings.Contains(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

func TestUnknownToolIsAProtocolError(t *testing.T) {
	_, err := connect(t, nil, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "claude_code_configure"})
	if err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("got %v", err)
	}
}

// A panic ends the call, not the server. (A nil engine panics when used.)
func TestPanicIsInternal(t *testing.T) {
	c := connect(t, nil, nil)
	for range 2 {
		m, isError := use(t, c, "claude_code", `{"prompt":"x"}`)
		if !isError || m["code"] != "INTERNAL" || strings.Contains(fmt.Sprint(m["error"]), "nil pointer") {
			t.Errorf("got %v", m)
		}
	}
}

func TestProgressNeedsAToken(t *testing.T) {
	there, here := mcp.NewInMemoryTransports()
	s := &server{logger: slog.New(slog.DiscardHandler)}
	wait := s.claudeCodeSession()
	wait.run = func(ctx context.Context, c call) (any, error) {
		c.progress(ctx, "still here")
		c.progress(ctx, "and here")
		return sessionsAnswer{Sessions: []sessionView{}}, nil
	}
	m := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	m.AddTool(wait.describe(), s.handle(wait))
	if _, err := m.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			told <- fmt.Sprint(r.Params.ProgressToken, r.Params.Progress, " ", r.Params.Message)
		},
	}).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, meta := range []mcp.Meta{nil, {"progressToken": "t"}} {
		p := &mcp.CallToolParams{Name: sessionTool, Arguments: json.RawMessage(`{}`), Meta: meta}
		if _, err := c.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"t1 still here", "t2 and here"} {
		if got := <-told; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestErrorShape(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{engine.Errorf(engine.SessionBusy, "session is running"), `"error":"Error [SESSION_BUSY]: session is running","code":"SESSION_BUSY"`},
		{fmt.Errorf("wrapped: %w", engine.Errorf(engine.Limit, "full")), `"error":"Error [LIMIT]: full","code":"LIMIT"`},
		{fmt.Errorf("start: %w", context.Canceled), `"code":"CANCELLED"`},
		{context.DeadlineExceeded, `"code":"TIMEOUT"`},
		{errors.New("<odd>"), `"error":"Error [INTERNAL]: <odd>","code":"INTERNAL"`},
	} {
		res := failure("claude_code", "s", tt.err)
		text := res.Content[0].(*mcp.TextContent).Text
		if !res.IsError || !strings.HasPrefix(text, `{"sessionId":"s","status":"error","isError":true,`) || !strings.Contains(text, tt.want) {
			t.Errorf("%v: %s", tt.err, text)
		}
	}
	text := failure(sessionTool, "", errors.New("x")).Content[0].(*mcp.TextContent).Text
	if !strings.Contains(text, `"sessions":[],"message":"Error [INTERNAL]: x"`) {
		t.Errorf("session tool: %s", text)
	}
}

// Every line a hostile or broken client may send leaves the connection usable.
func TestStdioSurvivesBadLines(t *testing.T) {
	in, client := io.Pipe()
	server, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- New(nil, nil).Run(context.Background(), Transport(in, out, nil)) }() // ends with in
	replies := make(chan string, 100)
	go func() { // ends with the server's output
		dec := json.NewDecoder(server)
		for {
			var raw json.RawMessage
			if dec.Decode(&raw) != nil {
				close(replies)
				return
			}
			replies <- string(raw)
		}
	}()
	send := func(line string) {
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	<-replies
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, line := range []string{
		`x`, `{}`, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":99,"result":null}`, `{"jsonrpc":"2.0","id":98,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":null}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"claude_code","arguments":"x"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"claude_code","arguments":{"prompt":"x","maxTurns":1e9999}}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"claude_code","arguments":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"no/such"}`, `{"jsonrpc":"2.0","id":6,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":{}}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"claude_code","_meta":5}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"claude_code","arguments":{"prompt":"x"},"_meta":{"progressToken":{}}}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", strings.Repeat("[", 5000), `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
	} {
		send(line)
		id := fmt.Sprintf("alive-%d", i)
		send(`{"jsonrpc":"2.0","id":"` + id + `","method":"tools/list"}`)
		for alive := false; !alive; {
			select {
			case reply, ok := <-replies:
				if !ok {
					t.Fatalf("the connection ended after %.80s: %v", line, <-done)
				}
				alive = strings.Contains(reply, `"id":"`+id+`"`) && strings.Contains(reply, `"tools":[`)
			case <-time.After(10 * time.Second):
				t.Fatalf("no answer after %.80s", line)
			}
		}
	}
	client.Close()
	if err := <-done; err != nil {
		t.Errorf("end of input: %v", err)
	}
}
