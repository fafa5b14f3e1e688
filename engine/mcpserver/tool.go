package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one entry of tools/list and what runs behind it.
type tool struct {
	name, title, description string
	output                   string // name of the output schema, when not its own
	annotations              mcp.ToolAnnotations
	// run answers a call; its value is marshalled as the structured result. A
	// *engine.Error keeps its code, any other error is INTERNAL.
	run func(context.Context, call) (any, error)
}

// call is one request to a tool.
type call struct {
	arguments
	progress func(context.Context, string) // tells the client that we still wait; never nil
}

func (t tool) describe() *mcp.Tool {
	out := t.output
	if out == "" {
		out = t.name
	}
	annotations := t.annotations
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		InputSchema:  schema(t.name + ".input"),
		OutputSchema: schema(out + ".output"),
		Annotations:  &annotations,
	}
}

// schema reads an embedded schema. A missing file is a mistake in this program.
func schema(name string) json.RawMessage {
	b, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		panic(err)
	}
	return b
}

// handle is the only way into an own tool.
func (s *server) handle(t tool) mcp.ToolHandler {
	return s.guard(guarded{
		name: t.name, known: parameters(t.name),
		run: func(ctx context.Context, req *mcp.CallToolRequest, a *arguments) (*mcp.CallToolResult, error) {
			v, err := t.run(ctx, call{arguments: *a, progress: progressOf(req)})
			if err != nil {
				return nil, err
			}
			return answered(req.Session, v)
		},
		fail: func(a *arguments, err error) *mcp.CallToolResult { return failure(t.name, a.sessionID(), err) },
	})
}

// guarded is what runs behind the name of a tool.
type guarded struct {
	name  string
	known []string // arguments
	run   func(context.Context, *mcp.CallToolRequest, *arguments) (*mcp.CallToolResult, error)
	fail  func(*arguments, error) *mcp.CallToolResult
}

// guard decodes the arguments of a call, runs it, and turns an error or a panic
// into the error shape of the tool. The handler never returns a Go error, so a
// client always gets a tool result it can read.
func (s *server) guard(g guarded) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		var args arguments
		defer func() {
			if p := recover(); p != nil {
				s.logger.Error("tool panicked", "tool", g.name, "panic", p, "stack", string(debug.Stack()))
				err := engine.Errorf(engine.Internal, "%s: unexpected error; the server's log has the details, other sessions go on", g.name)
				res = g.fail(&args, err)
			}
		}()
		args, err := decodeArguments(req.Params.Arguments, g.known)
		if err != nil {
			s.logger.Debug("tool refused", "tool", g.name, "error", err)
			return g.fail(&args, err), nil
		}
		ctx, done := stoppable(engine.WithCaller(ctx, callerOf(req)))
		defer done()
		began := time.Now()
		s.logger.Debug("tool called", "tool", g.name)
		res, err = g.run(ctx, req, &args)
		if err != nil {
			s.logger.Debug("tool refused", "tool", g.name, "ms", time.Since(began).Milliseconds(), "error", err)
			return g.fail(&args, err), nil
		}
		s.logger.Debug("tool answered", "tool", g.name, "ms", time.Since(began).Milliseconds(), "isError", res.IsError)
		return res, nil
	}
}

// progressOf returns a function that sends a progress notification, or does
// nothing when the client did not ask for any.
func progressOf(req *mcp.CallToolRequest) func(context.Context, string) {
	silent := func(context.Context, string) {}
	if req == nil || req.Session == nil {
		return silent
	}
	token := req.Params.GetProgressToken()
	if token == nil {
		return silent
	}
	step := 0.0
	return func(ctx context.Context, message string) {
		step++
		// A notification that cannot be sent is no reason to end the wait.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: step, Message: message,
		})
	}
}

// answered renders v as structured content and the same text.
func answered(session *mcp.ServerSession, v any) (*mcp.CallToolResult, error) {
	b, err := body(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	res := rendered(session, b)
	if a, ok := v.(blockingAnswer); ok {
		res.IsError = a.fails()
	}
	return res, nil
}

// success is answered for a short answer.
func success(v any) (*mcp.CallToolResult, error) { return answered(nil, v) }
