package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

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

// handle is the only way into a tool: it decodes, runs, and turns an error or
// a panic into the one error shape. It never returns a Go error, so a client
// always gets a tool result it can read.
func (s *server) handle(t tool) mcp.ToolHandler {
	names := parameters(t.name)
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		var args arguments
		defer func() {
			if p := recover(); p != nil {
				s.logger.Error("tool panicked", "tool", t.name, "panic", p, "stack", string(debug.Stack()))
				err := engine.Errorf(engine.Internal, "%s: unexpected error; the server's log has the details, other sessions go on", t.name)
				res = failure(t.name, args.sessionID(), err)
			}
		}()
		args, err := decodeArguments(req.Params.Arguments, names)
		if err != nil {
			return failure(t.name, args.sessionID(), err), nil
		}
		ctx, done := stoppable(engine.WithCaller(ctx, callerOf(req)))
		defer done()
		v, err := t.run(ctx, call{arguments: args, progress: progressOf(req)})
		if err == nil {
			res, err = answered(req.Session, v)
		}
		if err != nil {
			s.logger.Debug("tool refused", "tool", t.name, "error", err)
			return failure(t.name, args.sessionID(), err), nil
		}
		return res, nil
	}
}

// progressOf returns a function that sends a progress notification, or does
// nothing when the client did not ask for any.
func progressOf(req *mcp.CallToolRequest) func(context.Context, string) {
	token := req.Params.GetProgressToken()
	if token == nil || req.Session == nil {
		return func(context.Context, string) {}
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
	return rendered(session, b), nil
}

// success is answered for a short answer.
func success(v any) (*mcp.CallToolResult, error) { return answered(nil, v) }
