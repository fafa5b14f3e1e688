package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAnswers walks what the CLI may send, and what it is told.
func TestAnswers(t *testing.T) {
	server := testServer()
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "prompts/list" {
				panic("in a middleware")
			}
			return next(ctx, method, req)
		}
	})
	c := dial(t, Serve(server, nil), "s1").handshake()
	for _, test := range []struct{ name, send, want string }{
		{"call", toolCall(1, "echo", `{"text":"a<b"}`), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"s1:a\u003cb"}]}}`},
		{"text id", toolCall(`"a"`, "echo", `{"text":""}`), `{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"s1:"}]}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":2,"method":"nope"}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found: \"nope\""}}`},
		{"unknown tool", toolCall(3, "nope", `{}`), `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool \"nope\""}}`},
		{"invalid arguments", toolCall(4, "echo", `{"text":1}`), `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"validating \"arguments\": validating root: validating /properties/text: type: 1 has type \"integer\", want \"string\""}],"isError":true}}`},
		{"handler error", toolCall(5, "fail", `{}`), `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"kaboom"}],"isError":true}}`},
		{"low-level handler error", toolCall(6, "low_fail", `{}`), `{"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"low"}],"isError":true}}`},
		{"JSON-RPC error", toolCall(7, "fail_rpc", `{}`), `{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"go there","data":{"url":"x"}}}`},
		{"panic", toolCall(8, "panic", `{}`), `{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"tool \"panic\" failed: internal error (panic)"}}`},
		{"panic of a middleware", `{"jsonrpc":"2.0","id":9,"method":"prompts/list"}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"\"prompts/list\" failed: internal error (panic)"}}`},
		{"panic while encoding", toolCall(10, "late_panic", `{}`), `{"jsonrpc":"2.0","id":10,"error":{"code":-32603,"message":"tool \"late_panic\" failed: internal error (panic)"}}`},
		{"no result", toolCall(12, "nothing", `{}`), `{"jsonrpc":"2.0","id":12,"error":{"code":-32603,"message":"tool \"nothing\" gave no result"}}`},
		{"and the next call", toolCall(13, "echo", `{"text":"b"}`), `{"jsonrpc":"2.0","id":13,"result":{"content":[{"type":"text","text":"s1:b"}]}}`},
		{"ping", `{"jsonrpc":"2.0","id":14,"method":"ping","params":{"_meta":{"claudecode/answerWithinMs":100}}}`, `{"jsonrpc":"2.0","id":14,"result":{}}`},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/nope","params":{"a":1}}`, ack},
		{"cancellation of nothing", cancellation(99), ack},
		{"cancellation without an id", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, ack},
		{"response to nothing", `{"jsonrpc":"2.0","id":77,"result":{}}`, ack},
		{"response by text", `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, ack},
		{"missing params", `{"jsonrpc":"2.0","id":15,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":15,"error":{"code":-32600,"message":"invalid request: missing required \"params\""}}`},
		{"not JSON", `{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: message is not a JSON object"}}`},
		{"null", `null`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: message is not a JSON object"}}`},
		{"batch", `[` + listThem + `]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: message is not a JSON object"}}`},
		{"version", `{"id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid request: message is not of jsonrpc \"2.0\""}}`},
		{"fractional id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: id 1.5 is neither a string nor a whole number"}}`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: id null is neither a string nor a whole number"}}`},
		{"large id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: id 9007199254740993 is beyond 9007199254740992"}}`},
		{"no method", `{"jsonrpc":"2.0","id":5}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid request: message is no request, no notification and no response"}}`},
		{"result and error", `{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid request: message is no request, no notification and no response"}}`},
		{"bad error", `{"jsonrpc":"2.0","id":5,"error":7}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid request: error of a response is not an error object"}}`},
		{"empty method", `{"jsonrpc":"2.0","id":5,"method":""}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid request: method is not a name"}}`},
		{"method in other letters", `{"jsonrpc":"2.0","id":5,"Method":"ping"}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"invalid request: message is no request, no notification and no response"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := c.ask(test.send); got != test.want {
				t.Errorf("answered\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	t.Run("result that cannot be encoded", func(t *testing.T) {
		if got := c.ask(toolCall(11, "unwritten", `{}`)); !strings.Contains(got, `"code":-32603`) || !strings.Contains(got, "cannot be encoded") {
			t.Error(got)
		}
	})
}

func TestHandshake(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s")
	if got := c.ask(listThem); got != `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"\"tools/list\" before initialize"}}` {
		t.Errorf("before initialize: %s", got)
	}
	if got := c.ask(helloed); got != ack {
		t.Errorf("notification before initialize: %s", got)
	}
	if got := c.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":7}`); !strings.Contains(got, `"code":-326`) {
		t.Errorf("bad initialize: %s", got)
	}
	if got := c.ask(listThem); !strings.Contains(got, `"code":-32600`) {
		t.Errorf("after a bad initialize: %s", got)
	}
	var init struct {
		Result struct {
			ProtocolVersion string
			Capabilities    struct{ Tools map[string]bool }
			ServerInfo      map[string]string
		}
	}
	if err := json.Unmarshal([]byte(c.ask(hello)), &init); err != nil {
		t.Fatal(err)
	}
	if init.Result.ProtocolVersion != "2025-11-25" || !init.Result.Capabilities.Tools["listChanged"] || init.Result.ServerInfo["name"] != "tickets" {
		t.Errorf("initialize: %+v", init.Result)
	}
	list := c.ask(listThem)
	if !strings.Contains(list, `"annotations":{"idempotentHint":false,"readOnlyHint":true}`) || strings.Contains(list, "ttlMs") || strings.Contains(list, "cacheScope") {
		t.Errorf("tools/list: %s", list)
	}
}

// TestSessionID takes a session of another transport of the same server for none
// of ours, and leaves its handlers alone.
func TestSessionID(t *testing.T) {
	server := testServer()
	Serve(server, nil)
	if got := SessionID(nil); got != "" {
		t.Errorf("SessionID(nil) = %q", got)
	}
	if got := SessionID(&mcp.CallToolRequest{}); got != "" {
		t.Errorf("SessionID of no session = %q", got)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { client.Close(); ss.Wait() }()
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != ":x" {
		t.Errorf("call by another transport: %v, %v", res, err)
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "low_fail"}); err == nil {
		t.Error("an error of a low-level handler was made a result for another transport")
	}
}

func TestEqualIDsOnTwoLinks(t *testing.T) {
	s := Serve(testServer(), nil)
	a, b := dial(t, s, "a").handshake(), dial(t, s, "b").handshake()
	fromA, fromB := a.send(toolCall(5, "wait", `{}`)), b.send(toolCall(5, "wait", `{}`))
	b.ask(cancellation(5))
	if got := b.answer(fromB); !strings.Contains(got, "context canceled") {
		t.Error(got)
	}
	if got := a.ask(toolCall(6, "echo", `{"text":"x"}`)); !strings.Contains(got, `"a:x"`) {
		t.Error(got)
	}
	select {
	case got := <-fromA:
		t.Errorf("a cancellation on another link answered: %s", got)
	default:
	}
}

func TestLargeArgument(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s").handshake()
	text := strings.Repeat("x", 1<<20)
	got := c.ask(toolCall(1, "echo", `{"text":"`+text+`"}`))
	if !strings.Contains(got, `"s:`+text+`"`) {
		t.Errorf("%d bytes came back, beginning with %.200s", len(got), got)
	}
}

// TestAfterClose tests that a closed link answers all it gets, and may be closed again.
func TestAfterClose(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s").handshake()
	call := c.send(toolCall(1, "wait", `{}`))
	c.close()
	if got := c.answer(call); !strings.Contains(got, `"id":1,"error":{"code":-32603,"message":"the connection to this server was closed`) {
		t.Errorf("call under way: %s", got)
	}
	for _, m := range []string{hello, listThem, toolCall(2, "echo", `{}`)} {
		if got := c.ask(m); !strings.Contains(got, "is closed") {
			t.Errorf("%s after Close: %s", m, got)
		}
	}
	if got := c.ask(helloed); got != ack {
		t.Errorf("notification after Close: %s", got)
	}
	c.close()
}

func TestCloseIsBounded(t *testing.T) {
	server, release := testServer(), make(chan struct{})
	server.AddTool(&mcp.Tool{Name: "stuck", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-release
		return say("late"), nil
	})
	c := dial(t, Serve(server, nil), "s").handshake()
	call := c.send(toolCall(1, "stuck", `{}`))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := c.link.Close(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), `server "tickets": 1 handlers`) {
		t.Errorf("Close = %v", err)
	}
	if got := c.answer(call); !strings.Contains(got, "closed before the call ended") {
		t.Error(got)
	}
	close(release)
}
