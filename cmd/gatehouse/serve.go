package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
)

// shutdownTime bounds the end of all sessions after the client left.
const shutdownTime = 15 * time.Second

// serve speaks MCP until stdin ends or a signal comes, then ends every session.
func (c *command) serve(ctx context.Context, args []string) int {
	o, err := c.parse("serve", args, false)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return c.failUsage(err)
	}
	s, err := c.configure(o)
	if err != nil {
		return c.failUsage(err)
	}
	logger := newLogger(c.stderr, slog.LevelInfo)
	eng, err := build(ctx, s, c.env, logger, false)
	if err != nil {
		return c.failUsage(err)
	}
	server := mcpserver.New(eng, &mcpserver.Options{Version: readVersion().Version, Logger: logger})
	logger.Info("serving", "profile", s.profile, "roots", s.roots, "executable", s.executable)
	err = server.Run(ctx, mcpserver.Transport(c.stdin, writeCloser{c.stdout}, logger))
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		logger.Warn("connection ended", "error", err)
	}
	return c.closeEngine(eng, logger)
}

// closeEngine ends every session. It takes its time from itself: the context
// of the command may have ended already.
func (c *command) closeEngine(eng *engine.Engine, logger *slog.Logger) int {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := eng.Close(ctx); err != nil {
		logger.Error("sessions may be left behind", "error", err)
		return exitTurnFailed
	}
	return exitOK
}

// writeCloser closes w if it can be closed. The transport closes its writer at
// the end of a connection.
type writeCloser struct{ io.Writer }

func (w writeCloser) Close() error {
	if c, ok := w.Writer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
