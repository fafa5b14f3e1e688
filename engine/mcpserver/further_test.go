package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const furtherSchema = `{"type":"object","properties":{"word":{},"flag":{},"size":{},"kind":{}}}`

// further is a tool of another family that answers with what run returns.
func further(name string, run func(context.Context, Call) (string, error)) Tool {
	say := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	return Tool{
		Name: name, Input: json.RawMessage(furtherSchema), Guide: "Guide of the further tools.",
		Run: func(ctx context.Context, c Call) (*mcp.CallToolResult, error) {
			text, err := run(ctx, c)
			if err != nil {
				return nil, err
			}
			return say(text), nil
		},
		Fail: func(c Call, err error) *mcp.CallToolResult {
			return say("failed at " + c.Shown("word") + ": " + err.Error())
		},
	}
}

func connectTo(t *testing.T, ctx context.Context, m *mcp.Server) *mcp.ClientSession {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server, err := m.Connect(ctx, there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Wait() })
	return client
}

func say(t *testing.T, c *mcp.ClientSession, tool, args string) (string, bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

func TestFurtherTools(t *testing.T) {
	read := further("further", func(_ context.Context, c Call) (string, error) {
		word, flag, size, kind := c.Required("word"), c.Boolean("flag", true), c.Number("size", 1.5), c.Choice("kind", "a", "a", "b")
		if size > 9 {
			c.Refuse("size: is %v", size)
		}
		if word == "panic" {
			panic("at once")
		}
		got, err := json.Marshal([]any{word, flag, size, kind, c.Has("flag"), c.Free("kind")})
		return string(got), errors.Join(err, c.Err())
	})
	c := connectTo(t, t.Context(), New(nil, &Options{Further: []Tool{read}}))
	for _, tt := range []struct {
		args, want string
		fails      bool
	}{
		{`{"word":"w"}`, `["w",true,1.5,"a",false,""]`, false},
		{`{"word":"w","flag":false,"size":2,"kind":"b"}`, `["w",false,2,"b",true,"b"]`, false},
		{`{"word":"w","flag":null}`, `["w",true,1.5,"a",false,""]`, false},
		{`{"word":"w","fla":1}`, `failed at w: Error [INVALID_ARGUMENT]: "fla": unknown argument; did you mean "flag"?`, true},
		{`{"word":"w","word":"v"}`, `"word" is given twice`, true},
		{`{"word":7}`, `failed at : Error [INVALID_ARGUMENT]: word: want a string, got a number`, true},
		{`{"word":"w","size":10}`, `size: is 10`, true},
		{`{"word":"panic"}`, `failed at panic: Error [INTERNAL]: further: unexpected error`, true},
	} {
		got, isError := say(t, c, "further", tt.args)
		if isError != tt.fails || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, error %v, want %s", tt.args, got, isError, tt.want)
		}
	}
}

func TestFamiliesThatAreServed(t *testing.T) {
	echo := func(name string) Tool {
		return further(name, func(context.Context, Call) (string, error) { return name, nil })
	}
	for _, tt := range []struct {
		name         string
		o            Options
		server       string
		tools        []string
		instructions []string // parts of them, in order
	}{
		{"own", Options{}, "gatehouse", []string{"claude_code", "claude_code_check", "claude_code_reply", "claude_code_session"}, []string{instructions}},
		{"sync", Options{Sync: true}, "gatehouse", []string{"claude_code", "claude_code_check", "claude_code_reply", "claude_code_session"}, []string{instructionsSync}},
		{"both", Options{Further: []Tool{echo("x"), echo("y")}}, "gatehouse",
			[]string{"claude_code", "claude_code_check", "claude_code_reply", "claude_code_session", "x", "y"}, []string{instructions, "Guide of the further tools."}},
		{"other", Options{Name: "other", Without: true, Further: []Tool{echo("x")}}, "other", []string{"x"}, []string{"Guide of the further tools."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := connectTo(t, t.Context(), New(nil, &tt.o))
			list, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range list.Tools {
				got = append(got, tool.Name)
			}
			if slices.Sort(got); !slices.Equal(got, tt.tools) {
				t.Errorf("tools %v, want %v", got, tt.tools)
			}
			init := c.InitializeResult()
			if init.ServerInfo.Name != tt.server || init.Instructions != strings.Join(tt.instructions, "\n\n") {
				t.Errorf("name %q, instructions %q", init.ServerInfo.Name, init.Instructions)
			}
		})
	}
}

// The end of a call by its client is told apart from the end of the connection and
// from that of the server.
func TestWhoEndsACall(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(cancel, stop, hangUp func())
		want bool
	}{
		{"client", func(cancel, _, _ func()) { cancel() }, true},
		{"connection", func(_, _, hangUp func()) { hangUp() }, false},
		{"server", func(_, stop, _ func()) { stop() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun, got := make(chan struct{}), make(chan bool, 1)
			m := New(nil, &Options{Without: true, Further: []Tool{further("wait", func(ctx context.Context, _ Call) (string, error) {
				close(begun)
				<-ctx.Done()
				got <- CancelledByClient(ctx)
				return "", context.Cause(ctx)
			})}})
			run, stop := context.WithCancel(t.Context())
			defer stop()
			fromClient, toServer := io.Pipe()
			fromServer, toClient := io.Pipe()
			ran := make(chan error, 1)
			go func() { ran <- Run(run, m, Transport(fromClient, toClient, nil)) }() // ends with the connection
			c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			called := make(chan struct{})
			go func() { // ends with the call
				defer close(called)
				_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
			}()
			<-begun
			tt.end(cancel, stop, func() { toServer.Close() })
			select {
			case by := <-got:
				if by != tt.want {
					t.Errorf("cancelled by the client: %v, want %v", by, tt.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("the call did not end")
			}
			cancel()
			stop()
			toServer.Close()
			<-called
			<-ran
			c.Close()
		})
	}
}

// Errors of a further tool have a code, whatever they were.
func TestErrorsOfFurtherTools(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want engine.Code
	}{
		{engine.Errorf(engine.Limit, "x"), engine.Limit},
		{errors.New("x"), engine.Internal},
		{context.Canceled, engine.CancelledCode},
	} {
		fails := further("fails", func(context.Context, Call) (string, error) { return "", tt.err })
		c := connectTo(t, t.Context(), New(nil, &Options{Without: true, Further: []Tool{fails}}))
		if got, isError := say(t, c, "fails", `{}`); !isError || !strings.Contains(got, "["+string(tt.want)+"]") {
			t.Errorf("%v: %s", tt.err, got)
		}
	}
}
