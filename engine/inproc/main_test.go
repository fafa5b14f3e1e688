package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/gatehouse-mcp/gatehouse/internal/workers"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) { os.Exit(testleak.Run(m)) }

// cli is the other end of a link.
type cli struct {
	t     testing.TB
	link  Link
	mu    sync.Mutex
	heard []string // pushes
	next  chan string
}

func dial(t testing.TB, s interface {
	Connect(string, func(json.RawMessage) error) (Link, error)
}, session string) *cli {
	t.Helper()
	c := &cli{t: t, next: make(chan string, 1000)}
	link, err := s.Connect(session, c.hear)
	if err != nil {
		t.Fatal(err)
	}
	c.link = link
	t.Cleanup(func() { c.close() })
	return c
}

func (c *cli) hear(m json.RawMessage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, string(m))
	c.next <- string(m)
	return nil
}

func (c *cli) pushes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.heard...)
}

func (c *cli) close() {
	c.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := c.link.Close(ctx); err != nil {
		c.t.Error(err)
	}
}

// send delivers a message; a second answer fails the test.
func (c *cli) send(message string) <-chan string {
	answer := make(chan string, 2)
	c.link.Deliver(json.RawMessage(message), func(r json.RawMessage) {
		if len(answer) > 0 {
			c.t.Errorf("answered twice: %s", message)
		}
		answer <- string(r)
	})
	return answer
}

func (c *cli) answer(from <-chan string) string {
	c.t.Helper()
	select {
	case r := <-from:
		return r
	case <-time.After(2 * time.Minute):
		c.t.Fatal("no answer")
		return ""
	}
}

func (c *cli) ask(message string) string {
	c.t.Helper()
	return c.answer(c.send(message))
}

const (
	hello    = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}`
	helloed  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listThem = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	ack      = `{"jsonrpc":"2.0","result":{},"id":0}`
)

func (c *cli) handshake() *cli {
	c.t.Helper()
	if r := c.ask(hello); !strings.Contains(r, `"serverInfo"`) {
		c.t.Fatalf("initialize: %s", r)
	}
	if r := c.ask(helloed); r != ack {
		c.t.Fatalf("initialized: %s", r)
	}
	return c
}

func toolCall(id any, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"claudecode/toolUseId":"tu","progressToken":%v}}}`, id, tool, arguments, id)
}

func cancellation(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v,"reason":"x"}}`, id)
}

type textArgs struct {
	Text string `json:"text"`
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// testServer has a tool for each thing that a handler can do.
func testServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tickets", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, req *mcp.CallToolRequest, in textArgs) (*mcp.CallToolResult, any, error) {
		return say(SessionID(req) + ":" + in.Text), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("kaboom")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "fail_rpc"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, &jsonrpc.Error{Code: -32042, Message: "go there", Data: json.RawMessage(`{"url":"x"}`)}
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	for name, handle := range map[string]mcp.ToolHandler{
		"panic":   func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("oh secret") },
		"nothing": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil },
		"low_fail": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("low")
		},
		"unwritten": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: func() {}}, nil
		},
		"late_panic": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: explosive{}}, nil
		},
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handle)
	}
	return server
}

type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("while encoding") }

// inBubble is synctest.Test, whose bubble ends after the workers of handlers.
func inBubble(t *testing.T, f func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * workers.Idle) }) // the last one
		f(t)
	})
}
