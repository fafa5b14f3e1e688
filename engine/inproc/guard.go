package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// encoded is a result that was encoded already. The go-sdk would encode it outside
// of the guard: where that fails the call is never answered, and where it panics
// the process ends.
type encoded struct {
	mcp.Result
	text json.RawMessage
}

func (e *encoded) MarshalJSON() ([]byte, error) { return e.text, nil }

// guard is the middleware around all of a server's handlers. One that ends its
// goroutine must not end that of the go-sdk, which would never answer the call and
// never end the session.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if _, ok := ours(req); !ok {
			return next(ctx, method, req)
		}
		var res mcp.Result
		var err error = errGone
		ended := make(chan struct{})
		s.workers.Start(func() { // ends with the handler, which is waited for
			defer close(ended)
			res, err = s.guarded(ctx, next, method, req)
		})
		if <-ended; err == errGone {
			return nil, s.gone(method, req)
		}
		return res, err
	}
}

// errGone says that a handler has not returned, and will not.
var errGone = errors.New("the handler ended its goroutine")

func (s *Server) gone(method string, req mcp.Request) error {
	what := handlerOf(method, req)
	s.options.Logger.Error("handler ended its goroutine", "server", s.title(), "handler", what)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: what + " failed: internal error (it ended its goroutine)"}
}

func (s *Server) guarded(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, s.panicked(method, req, p)
		}
	}()
	res, err = next(ctx, method, req)
	if method == "tools/call" {
		res, err = toolOutcome(req, res, err)
	}
	if err != nil || res == nil {
		return nil, err
	}
	return s.encode(res)
}

// panicked is the answer to a call whose handler panicked. What it panicked with is
// for the owner, not for the model.
func (s *Server) panicked(method string, req mcp.Request, p any) error {
	what := handlerOf(method, req)
	s.options.Logger.Error("handler panicked", "server", s.title(), "handler", what, "panic", shorten(fmt.Sprint(p), maxErrorText), "stack", string(debug.Stack()))
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: what + " failed: internal error (panic)"}
}

// handlerOf names a handler in texts.
func handlerOf(method string, req mcp.Request) string {
	if name := toolName(req); name != "" {
		return fmt.Sprintf("tool %q", name)
	}
	return fmt.Sprintf("%q", method)
}

func toolName(req mcp.Request) string {
	if params, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && params != nil {
		return params.Name
	}
	return ""
}

// toolOutcome makes of a handler's error what the model can read, as mcp.AddTool
// does; Server.AddTool leaves it to the handler.
func toolOutcome(req mcp.Request, res mcp.Result, err error) (mcp.Result, error) {
	if inner := (*jsonrpc.Error)(nil); errors.As(err, &inner) {
		return nil, err
	}
	if err != nil {
		out := &mcp.CallToolResult{}
		out.SetError(err)
		return out, nil
	}
	if r, ok := res.(*mcp.CallToolResult); ok && r == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("tool %q gave no result", toolName(req))}
	}
	return res, nil
}

func (s *Server) encode(res mcp.Result) (mcp.Result, error) {
	if init, ok := res.(*mcp.InitializeResult); ok && init.ServerInfo != nil {
		s.name.Store(&init.ServerInfo.Name)
	}
	if r, ok := res.(*mcp.CallToolResult); ok && len(r.Content) == 1 {
		if v, ok := r.Content[0].(*verbatim); ok {
			return &encoded{res, v.text}, nil
		}
	}
	text, err := marshal(res)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "result cannot be encoded: " + shorten(err.Error(), maxErrorText)}
	}
	if c, ok := res.(interface{ GetTTLMs() int }); ok && c.GetTTLMs() == 0 {
		text = uncached(text)
	}
	return &encoded{res, text}, nil
}

// marshal spares the commonest result one of the passes that check what a MarshalJSON
// made; this one made it with json.Marshal itself.
func marshal(res mcp.Result) (json.RawMessage, error) {
	if r, ok := res.(*mcp.CallToolResult); ok {
		return r.MarshalJSON()
	}
	return json.Marshal(res)
}

// uncached leaves out that a result is not to be cached, which is so without.
func uncached(text json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return text
	}
	delete(fields, "ttlMs")
	delete(fields, "cacheScope")
	return plain(fields)
}

// verbatim stands for the whole result of a tool that gives it as JSON.
type verbatim struct {
	mcp.TextContent
	text json.RawMessage
}
