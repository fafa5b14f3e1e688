package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopKey is the context key of the context whose end ends calls under way.
type stopKey struct{}

// Run serves one connection as m.Run does, and at the end of ctx it also cancels
// the calls under way, for which m.Run would wait: a start takes up to
// sessionInitTimeoutMs, a waitMs a minute. They are not answered: once a
// connection closes, the SDK writes no more.
//
// It returns when every call has. A call that heeds no context keeps it from
// returning, and so does an answer that the client does not read.
func Run(ctx context.Context, m *mcp.Server, t mcp.Transport) error {
	return m.Run(context.WithValue(ctx, stopKey{}, ctx), t)
}

// stoppable is the context of a call, which ends with that of Run too: the SDK
// hands a call the values of that context but not its end.
func stoppable(ctx context.Context) (context.Context, func()) {
	stop, ok := ctx.Value(stopKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}
