package mcpserver

import "context"

// CancelledByClient reports whether the context of a tool's call ended because the
// client gave the call up (notifications/cancelled). It is false where the
// connection or the server ended, which says nothing about the call.
//
// The SDK cancels the context of a call in all these cases. A notification leaves no
// cause; the end of the connection leaves the error of the read, such as io.EOF.
// The end of [Run] may leave any cause, so it is asked for by itself.
func CancelledByClient(ctx context.Context) bool {
	if context.Cause(ctx) != context.Canceled {
		return false
	}
	stop, ok := ctx.Value(stopKey{}).(context.Context)
	return !ok || stop.Err() == nil
}
