package engine

import (
	"context"
	"encoding/json"
)

// ToolServer is an MCP server in this process whose tools sessions are offered, as
// mcp__<server>__<tool>. Package inproc makes one of an mcp.Server of the go-sdk.
// It must be safe for concurrent use.
type ToolServer interface {
	// Connect begins one connection, for one process of a session. It does not
	// block. push sends a message of the server (a notification or a request) to the
	// CLI; it does not block either, may be called from any goroutine, also before
	// Connect returns, and keeps nothing of message. Its error says that the process
	// does not listen any more, that more wait than it takes (128, or 8 MiB), or that
	// message is no JSON object.
	Connect(session string, push func(message json.RawMessage) error) (ToolLink, error)
}

// ToolLink is one connection of a [ToolServer]. It is an alias, so that who
// implements it need not import this package.
type ToolLink = interface {
	// Deliver takes the next JSON-RPC message of the CLI. It is called in the order
	// the messages came in and never blocks on a handler. reply is called exactly
	// once, from any goroutine: with the response to a request, and with any response
	// at all to a notification.
	Deliver(message json.RawMessage, reply func(response json.RawMessage))
	// Close cancels the calls under way and answers them. It returns when no goroutine
	// of the link is left, or with an error when ctx ends first. It can come while
	// Deliver runs; what is delivered later need not be answered.
	Close(ctx context.Context) error
}
