// Package mcpserver offers an [engine.Engine] as MCP tools, so that any MCP
// client can start, continue, watch, answer and end Claude Code sessions.
//
// Start at [New]; [Transport] serves the result over stdio:
//
//	srv := mcpserver.New(eng, &mcpserver.Options{Version: "1.0.0"})
//	err := srv.Run(ctx, mcpserver.Transport(os.Stdin, os.Stdout, logger))
//
// The tools are claude_code, claude_code_reply, claude_code_check,
// claude_code_session and, where it is asked for, claude_code_configure, each in the
// file of its name; calls that wait for their turn are in blocking.go. Tools of other
// families are served beside them (further.go). All are thin: arguments
// are decoded strictly (arguments.go), one engine method is called, and the
// answer is shaped (poll.go, shape.go) and written (encode.go, splice.go). The
// package keeps nothing but the open connections and closes nothing: the caller
// closes the Engine.
package mcpserver

import (
	"context"
	"embed"
	"log/slog"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed instructions.md
var instructions string

//go:embed instructions_sync.md
var instructionsSync string // with Options.Sync

// Schemas are written by hand: inferred ones allow null for arrays and drop
// unknown keys, and their size is paid by every client's context.
//
//go:embed schema
var schemas embed.FS

// Options configures a server. The zero value works.
type Options struct {
	Name    string // told to clients; empty: "gatehouse"
	Version string // told to clients; empty: "dev"

	Without   bool         // leave the claude_code tools out
	Sync      bool         // claude_code and claude_code_reply answer when the turn has ended, and permissionMode is dontAsk where none is given
	ByID      bool         // with Sync: a reply without a token continues a session that is only kept, with the options it had
	Configure bool         // offer claude_code_configure
	Further   []Tool       // of other families
	NoDetails string       // why includeSensitive is refused; empty: policy decides on it
	Logger    *slog.Logger // nil: discards
}

// server carries what the tools share. Everything is fixed before it serves.
type server struct {
	engine *engine.Engine
	logger *slog.Logger

	noDetails string // see Options
	sync      bool   // see Options
	byID      bool   // the same
}

// New makes an MCP server with the tools that opts chooses. A nil opts is the zero Options.
// The server may serve any number of connections at once.
func New(e *engine.Engine, opts *Options) *mcp.Server { return Prepare(opts)(e) }

// Prepare makes a server in the background, while the caller makes its engine;
// the result gives it the engine and is called once.
func Prepare(opts *Options) func(*engine.Engine) *mcp.Server {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = "gatehouse"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{logger: o.Logger, noDetails: o.NoDetails, sync: o.Sync, byID: o.Sync && o.ByID}
	made := make(chan *mcp.Server, 1)
	go func() { made <- s.make(o) }() // ends when the server is made
	return func(e *engine.Engine) *mcp.Server {
		m := <-made
		s.engine = e
		return m
	}
}

func (s *server) make(o Options) *mcp.Server {
	m := mcp.NewServer(
		&mcp.Implementation{Name: o.Name, Title: "Gatehouse", Version: o.Version},
		&mcp.ServerOptions{
			Instructions: strings.Join(o.guides(), "\n\n"),
			Logger:       o.Logger,
			// Neither logging nor list changes: the tools never change.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		})
	if !o.Without {
		for _, t := range s.tools() {
			m.AddTool(t.describe(), s.handle(t))
		}
		if t := s.claudeCodeConfigure(); o.Configure {
			m.AddTool(t.describe(), s.handle(t))
		}
	}
	for _, t := range o.Further {
		m.AddTool(t.describe(), s.handleFurther(t))
	}
	return m
}

// tools lists the family in the order clients read it.
func (s *server) tools() []tool {
	return []tool{s.claudeCode(), s.claudeCodeReply(), s.claudeCodeCheck(), s.claudeCodeSession()}
}
