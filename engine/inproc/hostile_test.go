package inproc

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// quitter ends the goroutine that encodes it.
type quitter struct{ mcp.TextContent }

func (*quitter) MarshalJSON() ([]byte, error) { runtime.Goexit(); return nil, nil }

// A handler that ends its goroutine, as a failed assertion in a test does, fails its
// call alone, and its session can be closed.
func TestHandlersThatEndTheirGoroutine(t *testing.T) {
	quit := func() *mcp.CallToolResult { runtime.Goexit(); return nil }
	greeted := make(chan struct{}, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "quits", Version: "1"}, &mcp.ServerOptions{
		InitializedHandler: func(context.Context, *mcp.InitializedRequest) { greeted <- struct{}{}; runtime.Goexit() },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			runtime.Goexit()
			return nil, nil
		},
	})
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return quit(), nil, nil
	})
	server.AddTool(&mcp.Tool{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return quit(), nil
	})
	server.AddTool(&mcp.Tool{Name: "encoded", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&quitter{}}}, nil
	})
	c := dial(t, Serve(server, nil), "s").handshake()
	<-greeted
	for i, name := range []string{"typed", "plain", "encoded", "typed"} {
		if r := c.ask(toolCall(i+2, name, "{}")); !strings.Contains(r, `"code":-32603`) || !strings.Contains(r, name) {
			t.Errorf("%s: %s", name, r)
		}
	}
	if r := c.ask(`{"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}}`); !strings.Contains(r, `"code":-32603`) {
		t.Errorf("completion: %s", r)
	}
	set := newToolSet(t, Tool{Name: "quit", InputSchema: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		runtime.Goexit()
		return nil, nil
	}})
	if r := dial(t, set, "s").handshake().ask(toolCall(2, "quit", "{}")); !strings.Contains(r, `"code":-32603`) {
		t.Errorf("tool set: %s", r)
	}
}

// Tools come and go while calls run and sessions begin, and everything is answered.
func TestToolsChangeWhileCallsRun(t *testing.T) {
	server := testServer()
	s := Serve(server, nil)
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() { // ends with stop
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprint("fresh", i%7)
			mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return say("fresh"), nil, nil
			})
			server.RemoveTools(name)
			runtime.Gosched()
		}
	})
	var calling sync.WaitGroup
	for n := range 4 {
		c := &cli{t: t, next: make(chan string, 1_000_000)}
		c.link, _ = s.Connect(fmt.Sprint("s", n), c.hear)
		t.Cleanup(c.close)
		calling.Go(func() { // ends with its last call
			for range 10 { // the CLI greets anew
				if r := c.ask(hello); !strings.Contains(r, "serverInfo") {
					t.Errorf("initialize: %s", r)
					return
				}
				c.ask(helloed)
				for id := 1; id <= 20; id++ {
					if r := c.ask(toolCall(id, "echo", text(id))); !strings.Contains(r, fmt.Sprintf(`s%d:%d`, n, id)) {
						t.Errorf("call: %s", r)
					}
					c.ask(toolCall(100+id, "fresh3", "{}"))
					c.ask(listThem)
				}
			}
		})
	}
	calling.Wait()
	close(stop)
	changing.Wait()
}

// A storm of initialize requests with calls between them: each is answered once.
func TestInitializeStorm(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s").handshake()
	var all []<-chan string
	for i := range 500 {
		all = append(all, c.send(hello), c.send(helloed), c.send(toolCall(1, "echo", text(i))), c.send(cancellation(1)),
			c.send(`{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}`), c.send(`{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"x"}}`))
	}
	for _, a := range all {
		c.answer(a)
	}
	if r := c.handshakeBusy().ask(toolCall(5, "echo", text(5))); !strings.Contains(r, "s:5") {
		t.Errorf("after the storm: %s", r)
	}
}

// handshakeBusy tries until the sessions before have ended.
func (c *cli) handshakeBusy() *cli {
	c.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		r := c.ask(hello)
		if strings.Contains(r, "serverInfo") {
			c.ask(helloed)
			return c
		}
		if time.Now().After(end) {
			c.t.Fatal(r)
		}
		time.Sleep(time.Millisecond)
	}
}

// Links come and go while calls run.
func TestCloseWhileCallsComeIn(t *testing.T) {
	s := Serve(testServer(), nil)
	for n := range 100 {
		c := &cli{t: t, next: make(chan string, 1000)}
		c.link, _ = s.Connect(fmt.Sprint(n), c.hear)
		var sending sync.WaitGroup
		sending.Go(func() { // ends when all are answered
			c.ask(hello)
			for id := 1; id < 20; id++ {
				c.ask(toolCall(id, "echo", text(id)))
			}
		})
		runtime.Gosched()
		c.close()
		sending.Wait()
	}
}

// Two names that the CLI spells alike are refused: it would call one for the other.
func TestReplaceRefusesNamesThatAreSpeltAlike(t *testing.T) {
	set := newToolSet(t, tool("keep", `{"type":"object"}`))
	err := set.Replace([]Tool{tool("a.b", `{"type":"object"}`), tool("a_b", `{"type":"object"}`)})
	if err == nil || !strings.Contains(err.Error(), `"a_b"`) || !strings.Contains(err.Error(), `"a.b"`) {
		t.Errorf("error %v, want one that names both", err)
	}
	if r := dial(t, set, "s").handshake().ask(listThem); !strings.Contains(r, "keep") || strings.Contains(r, "a_b") {
		t.Errorf("the tools changed: %s", r)
	}
}
