package engine

import (
	"context"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// callerKey is the context key of who calls.
type callerKey struct{}

// WithCaller says who makes the calls of this package that are given the
// context: policies see it as input.caller. Without it the caller is not known,
// which is a Caller with UID -1 and nothing else.
func WithCaller(ctx context.Context, c permission.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) permission.Caller {
	if c, ok := ctx.Value(callerKey{}).(permission.Caller); ok {
		return c
	}
	return permission.Caller{UID: -1}
}

// identity tells callers apart. A client's name is its own word.
func identity(c permission.Caller) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%s", c.Transport, c.Client, c.Subject, c.UID, c.Remote)
}
