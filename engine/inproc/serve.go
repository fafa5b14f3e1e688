package inproc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/workers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of a server.
const (
	DefaultTimeout     = 10 * time.Minute // of one call
	DefaultMaxInFlight = 64               // requests under way on one link
)

// Options are limits of a server. The zero value, and nil, work.
type Options struct {
	// Timeout of one call, whatever its handler does: the CLI is answered, and the
	// handler's context ends. 0 = DefaultTimeout, < 0 = none.
	Timeout time.Duration
	// MaxInFlight is how many requests may be under way on one link; one more is
	// refused. A handler that goes on after its call was answered still counts.
	// 0 = DefaultMaxInFlight.
	MaxInFlight int
	Logger      *slog.Logger // nil: discards
}

// Server offers an mcp.Server to sessions. It is safe for concurrent use.
type Server struct {
	server  *mcp.Server
	options Options
	name    atomic.Pointer[string] // as the server calls itself; nil before the first handshake
	workers workers.Pool           // of handlers
}

// handlerStack is what the go-sdk's decoding and checking comes to, in bytes.
const handlerStack = 32 << 10

// Serve makes a Server. Tools may be added to and removed from server at any time;
// sessions are told. Its handlers run under the limits of o, and one that panics
// fails its call alone; so does a middleware that was added before. An error that a
// tool handler returns is told to the model as text, unless it is a *jsonrpc.Error.
// Other transports of server are left as they are.
func Serve(server *mcp.Server, o *Options) *Server {
	s := &Server{server: server, workers: workers.Pool{Stack: handlerStack}}
	if o != nil {
		s.options = *o
	}
	if s.options.Timeout == 0 {
		s.options.Timeout = DefaultTimeout
	}
	if s.options.MaxInFlight <= 0 {
		s.options.MaxInFlight = DefaultMaxInFlight
	}
	if s.options.Logger == nil {
		s.options.Logger = slog.New(slog.DiscardHandler)
	}
	server.AddReceivingMiddleware(s.guard)
	return s
}

// Link is one connection, for one process of a session. It is safe for concurrent
// use; messages are taken in the order of the calls of Deliver.
//
// Deliver may call reply before it returns. Close may be called more than once;
// later messages are refused.
type Link = interface {
	Deliver(message json.RawMessage, reply func(response json.RawMessage))
	Close(ctx context.Context) error
}

// Connect implements engine.ToolServer. It starts nothing: that is done by the
// first initialize of the CLI.
func (s *Server) Connect(session string, push func(message json.RawMessage) error) (Link, error) {
	return newLink(s, session, push), nil
}

// sessionPrefix tells ids of sessions of this package from those of other
// transports of the same server, also where a client chooses its id.
var sessionPrefix = "inproc:" + rand.Text() + ":"

// SessionID is the session whose call req is, "" outside of one.
func SessionID(req mcp.Request) string {
	id, _ := ours(req)
	return id
}

func ours(req mcp.Request) (session string, ok bool) {
	if req == nil {
		return "", false
	}
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || ss == nil {
		return "", false
	}
	return strings.CutPrefix(ss.ID(), sessionPrefix)
}

// title is the server's name for texts.
func (s *Server) title() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return ""
}
