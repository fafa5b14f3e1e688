package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
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

	// Secrets are covered in whatever the server says: parts of the values above that
	// are secret, such as the token behind "Bearer ". They are found with the others,
	// when a connection is made. nil: all values of Env and Headers are.
	Secrets []Source

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

	// Processes notes each command on disk, so that a later start can end what a crash
	// left running, as engine.Options.Processes does. nil: nothing is kept.
	Processes *cli.Registry
}

// Server is one server, which may not run yet. It satisfies engine.ToolServer, and
// is safe for concurrent use.
type Server struct {
	c      Config
	o      Options
	target *url.URL // nil: a command
	logger *slog.Logger

	start  func(context.Context) (remote, error) // a connection
	absent atomic.Bool                           // it did not start or answer in time when it was last tried
	rushed chan struct{}                         // closed when Close has no more time for soft ends
	rush   func()

	mu     sync.Mutex
	closed bool
	shared *peer            // nil: no session came yet, or each has its own
	own    map[string]*peer // with Config.PerSession, by session
	peers  map[*peer]bool   // all of which something is left
}

// Open checks c; nothing is started. The error names the field that is wrong.
func Open(c Config, o Options) (*Server, error) {
	target, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("mcp server %q: %w", c.Name, err)
	}
	c = c.withDefaults()
	s := &Server{c: c, o: o, target: target, own: make(map[string]*peer), peers: make(map[*peer]bool)}
	if s.logger = o.Logger; s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.logger = s.logger.With("server", c.Name)
	s.start, s.rushed = s.dial, make(chan struct{})
	s.rush = sync.OnceFunc(func() { close(s.rushed) })
	return s, nil
}

func (s *Server) version() string { return cmp.Or(s.o.Version, "dev") }

// Connect implements engine.ToolServer.
func (s *Server) Connect(session string, push func(message json.RawMessage) error) (inproc.Link, error) {
	p, err := s.join(session)
	if err != nil {
		return nil, fmt.Errorf("mcp server %q: %w", s.c.Name, err)
	}
	inner, err := p.set.Connect(session, push)
	if err != nil {
		p.leave()
		s.left(context.Background(), p, session) // with an end of ctx it would not wait
		return nil, fmt.Errorf("mcp server %q: %w", s.c.Name, err)
	}
	left := func(ctx context.Context) error { return s.left(ctx, p, session) }
	return newLink(p, inner, p.soon(), left), nil
}

// join counts a link of the peer of a session.
func (s *Server) join(session string) (*peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	p := s.shared
	if s.c.PerSession {
		p = s.own[session]
	}
	if p == nil {
		p = s.begin(s.start)
		if s.c.PerSession {
			s.own[session] = p
		} else {
			s.shared = p
		}
	}
	p.enter()
	return p, nil
}

// begin starts a peer; s.mu is held.
func (s *Server) begin(dial func(context.Context) (remote, error)) *peer {
	p := newPeer(s, dial)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	s.peers[p] = true
	go func() { // ends with ctx, see Close and left
		p.run(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.peers, p)
	}()
	return p
}

// left ends the peer of a session with the last of its links.
func (s *Server) left(ctx context.Context, p *peer, session string) error {
	s.mu.Lock()
	if !s.c.PerSession || !p.unused() {
		s.mu.Unlock()
		return nil
	}
	if s.own[session] == p {
		delete(s.own, session)
	}
	s.mu.Unlock()
	p.cancel()
	return s.await(ctx, p)
}

func (s *Server) await(ctx context.Context, p *peer) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("mcp server %q: it is still ending: %w", s.c.Name, context.Cause(ctx))
	}
}

// dial connects with the values that the sources hold now.
func (s *Server) dial(ctx context.Context) (remote, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *Server) connect(ctx context.Context) (*conn, error) {
	v, err := s.c.values()
	if err != nil {
		return nil, err
	}
	if s.target != nil {
		v.secrets = append(v.secrets, queryOf(s.target)...)
		e := s.reach(v.headers, newCover(v.secrets), s.logger)
		return connect(ctx, e, e.intake, s.version(), s.logger)
	}
	ours := s.o.Environ
	if ours == nil {
		ours = os.Environ()
	}
	p, err := s.run(ctx, environment(ours, v.env), newCover(v.secrets), s.logger)
	if err != nil {
		return nil, err
	}
	return connect(ctx, p, p.intake, s.version(), s.logger)
}

// Tool is a tool as the server tells it.
type Tool struct {
	Name        string
	Description string // no character in it is invisible
	Offered     bool   // Config.Tools lets it through, and nothing else is wrong with it
	LeftOut     string // why it is not offered, in words; empty: it is
}

// Tools starts or reaches the server, lists its tools and ends it again; for a look
// at a configuration. It takes at most Config.StartTimeout, and the time to end.
func (s *Server) Tools(ctx context.Context) ([]Tool, error) {
	tools, err := s.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcp server %q: %w", s.c.Name, err)
	}
	return tools, nil
}

func (s *Server) look(ctx context.Context) (tools []Tool, err error) {
	within, cancel := context.WithTimeout(ctx, s.c.StartTimeout)
	defer cancel()
	var raw []json.RawMessage
	c, err := s.connect(within)
	if err == nil {
		raw, _, err = c.list(within)
		err = errors.Join(err, c.close())
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = s.slow()
	}
	if err != nil {
		return nil, err
	}
	for _, c := range s.sift(raw) {
		if c.leftOut == "" {
			if err := checkTool(c.tool); err != nil {
				c.leftOut = err.Error()
			}
		}
		tools = append(tools, Tool{Name: c.tool.Name, Description: c.tool.Description, Offered: c.leftOut == "", LeftOut: c.leftOut})
	}
	return tools, nil
}

func (s *Server) slow() error {
	return fmt.Errorf("it did not start, shake hands and list its tools within %v; raise its start timeout if it needs longer", s.c.StartTimeout)
}

// Close ends everything that was started. It returns when nothing of it is left, or
// with an error when ctx ends first. A program that has not ended by itself in half of
// that time is killed. Links that are still open answer with errors.
func (s *Server) Close(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.rush)()
	if end, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(time.Until(end)/2, s.rush).Stop()
	}
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Keys(s.peers))
	s.mu.Unlock()
	for _, p := range all {
		p.cancel()
	}
	var errs []error
	for _, p := range all {
		errs = append(errs, s.await(ctx, p))
	}
	return errors.Join(errs...)
}
