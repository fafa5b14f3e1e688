package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (c *cli) push() string {
	c.t.Helper()
	select {
	case m := <-c.next:
		return m
	case <-time.After(2 * time.Minute):
		c.t.Fatal("no push")
		return ""
	}
}

// listRoots sends a request to the CLI.
func listRoots(ctx context.Context, session *mcp.ServerSession) error {
	//lint:ignore SA1019 it is a request that has no part in the test but to be one
	_, err := session.ListRoots(ctx, nil)
	return err
}

// addTalker adds a tool that says all it can while it runs.
func addTalker(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "talk"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
		//lint:ignore SA1019 servers log this way as long as they may
		err = errors.Join(err, req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "a line"}))
		rootsErr := listRoots(ctx, req.Session)
		return say(fmt.Sprintf("%v, roots: %v", err, rootsErr)), nil, nil
	})
}

func TestPushesWhileACallRuns(t *testing.T) {
	server := testServer()
	addTalker(server)
	c := dial(t, Serve(server, nil), "s")
	for round := range 3 { // ids of requests of the server are not used again after an initialize
		c.handshake()
		c.ask(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`)
		call := c.send(toolCall(2, "talk", `{}`))
		if got := c.push(); got != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}` {
			t.Error(got)
		}
		if got := c.push(); !strings.Contains(got, `"method":"notifications/message"`) || !strings.Contains(got, `"a line"`) {
			t.Error(got)
		}
		if got, want := c.push(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"`, round+1); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		for wrong := range round + 1 { // of the sessions before
			c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"not for you"}}`, wrong))
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}`, round+1)
		if got := c.ask(answer) + c.ask(answer); got != ack+ack {
			t.Errorf("a response is acknowledged with %s", got)
		}
		if got := c.answer(call); !strings.Contains(got, "roots: ") || !strings.Contains(got, "Method not found") || strings.Contains(got, "not for you") {
			t.Error(got)
		}
	}
}

// TestPushErrorFailsOneMessage keeps the session when nobody listens.
func TestPushErrorFailsOneMessage(t *testing.T) {
	for name, push := range map[string]func(json.RawMessage) error{
		"error": func(json.RawMessage) error { return errors.New("pipe is closed") }, "nil": nil,
	} {
		t.Run(name, func(t *testing.T) {
			server := testServer()
			addTalker(server)
			link, err := Serve(server, nil).Connect("s", push)
			if err != nil {
				t.Fatal(err)
			}
			c := &cli{t: t, link: link}
			defer c.close()
			c.handshake()
			for id := range 3 * maxAsked { // nothing stays behind
				if got := c.ask(toolCall(id+1, "talk", `{}`)); !strings.Contains(got, "message to the CLI: ") || strings.Contains(got, "limit") {
					t.Fatal(got)
				}
			}
			if got := c.ask(toolCall(1, "echo", `{"text":"x"}`)); !strings.Contains(got, `"s:x"`) {
				t.Error(got)
			}
		})
	}
}

// TestCancelledQuestion passes the cancellation of a request of the server on under
// the id the CLI knows.
func TestCancelledQuestion(t *testing.T) {
	server := testServer()
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, listRoots(ctx, req.Session)
	})
	c := dial(t, Serve(server, nil), "s").handshake()
	c.ask(hello) // so that the two sides count differently
	for id := range 2 {
		call := c.send(toolCall(id+1, "ask", `{}`))
		c.push()
		c.ask(cancellation(id + 1))
		if got := c.answer(call); !strings.Contains(got, "context canceled") {
			t.Error(got)
		}
		if got, want := c.push(), fmt.Sprintf(`"requestId":%d`, id+1); !strings.Contains(got, want) || !strings.Contains(got, cancelledMethod) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	server := testServer()
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, listRoots(ctx, req.Session)
	})
	c := dial(t, Serve(server, &Options{MaxInFlight: maxAsked + 1}), "s").handshake()
	for id := range maxAsked {
		c.send(toolCall(id+1, "ask", `{}`))
		c.push()
	}
	if got := c.ask(toolCall(maxAsked+1, "ask", `{}`)); !strings.Contains(got, "64 requests of the server wait for an answer") {
		t.Error(got)
	}
	c.close()
}

func TestListChanged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := testServer()
		s := Serve(server, nil)
		a, b := dial(t, s, "a").handshake(), dial(t, s, "b").handshake()
		before := dial(t, s, "before initialize")
		time.Sleep(time.Second) // the server's own were added before
		heard := len(a.pushes())
		server.RemoveTools("echo")
		server.RemoveTools("wait")
		time.Sleep(time.Second)
		for _, c := range []*cli{a, b} {
			got := c.pushes()[heard:]
			if len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
				t.Errorf("pushed %q", got)
			}
		}
		if got := before.pushes(); len(got) != 0 {
			t.Errorf("before initialize: %q", got)
		}
		a.close()
		b.close()
		before.close()
	})
}

// TestDeafLinkHoldsUpNoOther has a CLI that does not read.
func TestDeafLinkHoldsUpNoOther(t *testing.T) {
	server, release := testServer(), make(chan struct{})
	s := Serve(server, nil)
	link, err := s.Connect("deaf", func(json.RawMessage) error { <-release; return nil })
	if err != nil {
		t.Fatal(err)
	}
	deaf := &cli{t: t, link: link}
	deaf.handshake()
	c := dial(t, s, "s").handshake()
	for range 3 {
		server.AddTool(&mcp.Tool{Name: "new", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		if got := c.push(); !strings.Contains(got, "list_changed") {
			t.Error(got)
		}
	}
	if got := deaf.ask(toolCall(1, "echo", `{"text":"x"}`)); !strings.Contains(got, "deaf:x") {
		t.Error(got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := link.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close while a push blocks = %v", err)
	}
	close(release)
	deaf.close()
}
