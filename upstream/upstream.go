package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
)

// Defaults of Config.
const (
	DefaultTimeout      = 2 * time.Minute
	DefaultStartTimeout = 20 * time.Second
	DefaultIdleTimeout  = 10 * time.Minute
)

// Secret is a value that prints as redacted.
type Secret string

// String implements fmt.Stringer.
func (Secret) String() string { return "[secret]" }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return "[secret]" }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Source finds a value when a connection is made, so that a new one is taken up by
// the next. Its error must not hold the value.
type Source func() (value Secret, err error)

// Config is one server.
type Config struct {
	Name string // as tools name it, see engine.Options.ToolServers

	Command []string          // a program and its arguments; the program absolute
	Dir     string            // where it runs, absolute; empty: a private empty folder
	Env     map[string]Source // its whole environment but for PATH, HOME, LANG, TMPDIR and USER

	URL     string            // instead of Command: https, or http to a loopback address
	Headers map[string]Source // sent with each request to URL, and to no other host

	Tools []string // the names offered, with * for any run of characters; nil: all

	Timeout      time.Duration // of one call; 0 = DefaultTimeout
	StartTimeout time.Duration // to start, shake hands and list; 0 = DefaultStartTimeout
	IdleTimeout  time.Duration // without a session it is ended after this long; 0 = DefaultIdleTimeout
	PerSession   bool          // each session has one of its own; else all share one
}

// Options are what all servers of a process share. The zero value works.
type Options struct {
	Environ []string     // of this process, of which a command gets a few; nil: os.Environ()
	Logger  *slog.Logger // nil: discards
	Version string       // told to servers; empty: "dev"
}

// Server is one server, which may not run yet. It satisfies engine.ToolServer.
type Server struct{}

// Open checks c; nothing is started. The error names the field that is wrong.
func Open(c Config, o Options) (*Server, error) { return nil, errors.New("upstream: not there yet") }

// Connect implements engine.ToolServer.
func (s *Server) Connect(session string, push func(message json.RawMessage) error) (inproc.Link, error) {
	return nil, errors.New("upstream: not there yet")
}

// Tool is a tool as the server tells it.
type Tool struct {
	Name        string
	Description string // no character in it is invisible
	Offered     bool   // Config.Tools lets it through
}

// Tools starts or reaches the server, lists its tools and ends it again; for a look
// at a configuration.
func (s *Server) Tools(ctx context.Context) ([]Tool, error) {
	return nil, errors.New("upstream: not there yet")
}

// Close ends everything that was started. It returns when nothing of it is left, or
// with an error when ctx ends first.
func (s *Server) Close(ctx context.Context) error { return nil }
