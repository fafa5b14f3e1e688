package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pages is a server whose one tool answers with a page of n events.
func pages() *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "pages", Version: "1"}, nil)
	m.AddTool(&mcp.Tool{Name: "page", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct{ N int }
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return nil, err
			}
			return answered(r.Session, pageOf(args.N))
		})
	return m
}

func pageOf(n int) answer {
	list := make([]event.Event, n)
	for i := range list {
		data := fmt.Sprintf(`{"n":%d,"text":"\"gatehouse-%d\" <tag> \\ \t \u2028"}`, i, i)
		list[i] = event.Event{ID: int64(i), Type: event.Output, Data: json.RawMessage(data), Timestamp: time.Unix(int64(i), 0).UTC()}
	}
	return answer{SessionID: "s", Status: "running", Events: &list}
}

// viaTransport connects a client over Transport.
func viaTransport(t *testing.T) (*mcp.ClientSession, *mcp.ServerSession, *stdio) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	transport := Transport(fromClient, toClient, nil).(*stdio)
	server, err := pages().Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Wait() })
	return client, server, transport
}

func callPage(t *testing.T, c *mcp.ClientSession, n int) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "page", Arguments: map[string]any{"N": n}})
	if err != nil {
		t.Error(err)
		return
	}
	raw, err := encode(pageOf(n))
	if err != nil {
		t.Error(err)
		return
	}
	var want, text any
	_ = json.Unmarshal(raw, &want)
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &text); err != nil {
		t.Errorf("%d events: text: %v", n, err)
	}
	if !reflect.DeepEqual(res.StructuredContent, want) || !reflect.DeepEqual(text, want) {
		t.Errorf("%d events: structured %.200v, text %.200v", n, res.StructuredContent, text)
	}
}

// TestAnswersAreWhole sends short and long answers, many at a time.
func TestAnswersAreWhole(t *testing.T) {
	c, _, transport := viaTransport(t)
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() { callPage(t, c, i*20) })
	}
	calls.Wait()
	if n := len(transport.splices.bodies); n != 0 || transport.splices.last == 0 {
		t.Errorf("%d of %d answers were left behind", n, transport.splices.last)
	}
}

// TestAnswersAreWholeElsewhere uses a transport that knows no marks.
func TestAnswersAreWholeElsewhere(t *testing.T) {
	there, here := mcp.NewInMemoryTransports()
	server, err := pages().Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.Close(); server.Wait() }()
	callPage(t, c, 500)
}

// TestConnectionIsForgotten looks for what a closed connection leaves behind.
func TestConnectionIsForgotten(t *testing.T) {
	c, server, transport := viaTransport(t)
	if _, ok := connections.Load(transport.splices.id); !ok {
		t.Fatal("the connection is not known")
	}
	c.Close()
	server.Wait()
	if _, ok := connections.Load(transport.splices.id); ok {
		t.Error("a closed connection is still known")
	}
}

func TestSplicesBound(t *testing.T) {
	s := newSplices()
	for range maxSplices {
		if _, ok := s.leave([]byte("{}")); !ok {
			t.Fatal("refused within the bound")
		}
	}
	if _, ok := s.leave([]byte("{}")); ok {
		t.Error("taken beyond the bound")
	}
}

func TestSplicesWrite(t *testing.T) {
	s := newSplices()
	mark, _ := s.leave([]byte(`{"a":"\"x\\"}`))
	var out strings.Builder
	line := fmt.Sprintf(`{"content":[{"text":%q}],"structuredContent":%q}`, mark, mark)
	for _, l := range []string{"plain\n", line + "\n", line + "\n"} {
		if err := s.write(&out, []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	want := "plain\n" + `{"content":[{"text":"{\"a\":\"\\\"x\\\\\"}"}],"structuredContent":{"a":"\"x\\"}}` + "\n" + line + "\n"
	if out.String() != want {
		t.Errorf("got %s\nwant %s", &out, want)
	}
}
