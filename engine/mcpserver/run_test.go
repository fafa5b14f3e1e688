package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call under way ends with the context of Run, which does not end before it.
func TestRunEndsCallsUnderWay(t *testing.T) {
	errStopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := func() { cancel(errStopped) }
	begun, cause := make(chan struct{}), make(chan error, 1)
	s := &server{logger: slog.New(slog.DiscardHandler)}
	m := mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)
	stuck := tool{name: startTool, run: func(ctx context.Context, _ call) (any, error) {
		close(begun)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}}
	m.AddTool(stuck.describe(), s.handle(stuck))
	there, here := mcp.NewInMemoryTransports()
	ran := make(chan error, 1)
	go func() { ran <- Run(ctx, m, there) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan struct{})
	go func() { // ends with the connection
		defer close(called)
		_, _ = client.CallTool(t.Context(), &mcp.CallToolParams{Name: startTool, Arguments: json.RawMessage(`{"prompt":"x"}`)})
	}()
	<-begun
	stop()
	if err := <-ran; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	<-called
	if got := <-cause; !errors.Is(got, errStopped) {
		t.Errorf("the call was ended by %v", got)
	}
}
