package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of a server.
const (
	DefaultTimeout     = 10 * time.Minute // of one call
	DefaultMaxInFlight = 64               // requests under way on one link
)

// Options are limits of a server. The zero value, and nil, work.
type Options struct {
	Timeout     time.Duration // of one call, whatever its handler does; 0 = DefaultTimeout, < 0 = none
	MaxInFlight int           // requests under way on one link, one more is refused; 0 = DefaultMaxInFlight
	Logger      *slog.Logger  // nil: discards
}

// Server offers an mcp.Server to sessions. It is safe for concurrent use.
type Server struct {
	server  *mcp.Server
	options Options
}

// Serve makes a Server. Tools may be added to and removed from server at any time;
// sessions are told. Its handlers run under the limits of o, and one that panics
// fails its call alone.
func Serve(server *mcp.Server, o *Options) *Server {
	s := &Server{server: server}
	if o != nil {
		s.options = *o
	}
	return s
}

// Link is one connection, for one process of a session.
type Link = interface {
	Deliver(message json.RawMessage, reply func(response json.RawMessage))
	Close(ctx context.Context) error
}

// Connect implements engine.ToolServer.
func (s *Server) Connect(session string, push func(message json.RawMessage) error) (Link, error) {
	return nil, errors.New("inproc: not there yet")
}

// SessionID is the session whose call req is, "" outside of one.
func SessionID(req mcp.Request) string { return "" }
