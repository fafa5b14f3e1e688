package toolhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// workbench makes the servers and notes what becomes of the calls of their tools.
type workbench struct {
	slow chan struct{} // closed when a call of "slow" runs

	mu       sync.Mutex
	begun    sync.Once
	calls    map[string]*tally
	running  int           // calls of "alone"
	together int           // calls of "pair"
	met      chan struct{} // closed when two calls of "pair" ran at once
}

type tally struct{ started, ended, cancelled int }

func newWorkbench() *workbench {
	return &workbench{slow: make(chan struct{}), calls: map[string]*tally{}, met: make(chan struct{})}
}

// args are the arguments of most tools here.
type args struct {
	Text  string `json:"text,omitempty"`
	Long  string `json:"long,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

type handler = mcp.ToolHandlerFor[args, any]

// server makes a server with all the tools.
func (b *workbench) server(name string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		Instructions: "instructions of " + name, PageSize: 5, Capabilities: &mcp.ServerCapabilities{},
	})
	for tool, h := range map[string]handler{
		"echo": echo, "fails": fails, "kaboom": kaboom, "panics": panics, "image": image, "big": big, "empty": empty,
		"slow": b.waits, "alone": b.alone, "roots": roots, "progress": progress, "twoparts": twoParts,
		"with.dot": echo,
	} {
		b.add(s, name, &mcp.Tool{Name: tool, Description: "tool with secretword"}, h)
	}
	for tool, h := range map[string]handler{"ro": echo, "pair": b.pair, "slowro": b.waits} {
		b.add(s, name, &mcp.Tool{Name: tool, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, h)
	}
	b.add(s, name, &mcp.Tool{Name: "adds"}, func(ctx context.Context, r *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		b.add(s, name, &mcp.Tool{Name: in.Text}, echo)
		return echo(ctx, r, in)
	})
	b.add(s, name, &mcp.Tool{Name: "removes"}, func(ctx context.Context, r *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		s.RemoveTools(in.Text)
		return echo(ctx, r, in)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sum"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ A, B int }) (*mcp.CallToolResult, struct {
		Sum int `json:"sum"`
	}, error) {
		return nil, struct {
			Sum int `json:"sum"`
		}{in.A + in.B}, nil
	})
	return s
}

// add adds a tool whose calls are noted.
func (b *workbench) add(s *mcp.Server, server string, tool *mcp.Tool, h handler) {
	key := server + " " + tool.Name
	mcp.AddTool(s, tool, func(ctx context.Context, r *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		b.note(key, func(t *tally) { t.started++ })
		defer b.note(key, func(t *tally) {
			t.ended++
			if ctx.Err() != nil {
				t.cancelled++
			}
		})
		return h(ctx, r, in)
	})
}

func (b *workbench) note(key string, edit func(*tally)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls[key] == nil {
		b.calls[key] = &tally{}
	}
	edit(b.calls[key])
}

func (b *workbench) report(out *printer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for key, t := range b.calls {
		lines = append(lines, fmt.Sprintf("tool %s started=%d ended=%d cancelled=%d", key, t.started, t.ended, t.cancelled))
	}
	slices.Sort(lines)
	for _, line := range lines {
		out.print("%s", line)
	}
}

func text(s string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil, nil
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
	if in.Long != "" {
		return text(fmt.Sprintf("%d bytes", len(in.Long)))
	}
	return text("echo: " + in.Text)
}

func fails(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New("the disk is full of secretword")
}

func kaboom(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	return nil, nil, &jsonrpc.Error{Code: -32050, Message: "kaboom of secretword"}
}

func panics(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	panic("a bug with secretword")
}

func image(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "a picture"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{0x89, 'P', 'N', 'G'}},
	}}, nil, nil
}

func big(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
	return text(strings.Repeat("y", in.Bytes))
}

func empty(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{}}, nil, nil
}

// twoParts tells a word in a block, in structured content and in _meta.
func twoParts(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{
		Meta:              mcp.Meta{"note": "secretword in meta"},
		Content:           []mcp.Content{&mcp.TextContent{Text: "secretword in text"}},
		StructuredContent: map[string]any{"key": "secretword in structure"},
	}, nil, nil
}

// waits returns when it is cancelled. It tells the CLI that it runs.
func (b *workbench) waits(ctx context.Context, r *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
	b.begun.Do(func() { close(b.slow) })
	if token := r.Params.GetProgressToken(); token != nil {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1}); err != nil {
			return nil, nil, err
		}
	}
	<-ctx.Done()
	return nil, nil, errors.New("slow was cancelled")
}

// alone fails when it runs beside itself.
func (b *workbench) alone(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
	b.mu.Lock()
	b.running++
	n := b.running
	b.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // for another one to begin, if it may
	b.mu.Lock()
	b.running--
	b.mu.Unlock()
	if n > 1 {
		return nil, nil, errors.New("not alone")
	}
	return text("alone")
}

// pair returns when two of it ran at once.
func (b *workbench) pair(ctx context.Context, _ *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
	b.mu.Lock()
	if b.together++; b.together == 2 {
		close(b.met)
	}
	b.mu.Unlock()
	select {
	case <-b.met:
		return text("met")
	case <-ctx.Done():
		return nil, nil, errors.New("nobody came")
	}
}

// roots asks the CLI for its roots, which it does not tell.
func roots(ctx context.Context, r *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
	_, err := r.Session.ListRoots(ctx, nil) //lint:ignore SA1019 it is a request the CLI knows and refuses
	if err == nil {
		return nil, nil, errors.New("there are roots")
	}
	return text("roots refused: " + err.Error())
}

func progress(ctx context.Context, r *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
	for i := range 3 {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step"})
		if err != nil {
			return nil, nil, err
		}
	}
	return text("three steps")
}
