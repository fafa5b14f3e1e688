package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"

	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
)

// serve speaks MCP until stdin ends or a signal comes, then ends every session.
func (c *command) serve(ctx context.Context, args []string) int {
	defer reserveHeap()()
	o, err := c.parse("serve", args, false)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = c.notNested("serve")
	}
	if err != nil {
		return c.failUsage(err)
	}
	logger := newLogger(c.stderr, slog.LevelInfo)
	serverOf := mcpserver.Prepare(&mcpserver.Options{Version: readVersion().Version, Logger: logger})
	s, err := c.configure(o)
	if err != nil {
		return c.failUsage(err)
	}
	st, err := openState(ctx, s, logger)
	if err != nil {
		return c.failUsage(err)
	}
	defer st.close() // after the sessions have ended
	s, closeLog := s.keepDecisions(logger)
	defer closeLog() // after the sessions have ended
	d := openDoor(s, logger)
	defer d.close()
	s.approvers = d.approvers("client")
	eng, rollout, err := build(ctx, s, st, c.env, logger, false)
	if err != nil {
		return c.failUsage(err)
	}
	defer rollout.plugins.closeAfter(closeLog, logger) // after the sessions have ended, and the reloads
	defer rollout.servers.close(logger)                // after the sessions have ended
	d.open(eng, logger)
	hangup, forget := hangups()
	defer forget()
	defer rollout.follow(ctx, eng, func() (*settings, error) { return c.read(o) }, hangup)()
	warnUnguarded(logger)
	for _, w := range environmentWarnings(c.env) {
		logger.Warn("environment", "problem", w)
	}
	for _, w := range s.redactionWarnings() {
		logger.Warn("redaction", "problem", w)
	}
	for _, w := range s.pluginWarnings() {
		logger.Warn("plugins", "problem", w)
	}
	for _, w := range s.serverWarnings() {
		logger.Warn("mcp_server", "problem", w)
	}
	server := serverOf(eng)
	logger.Info("serving", "profile", s.profile, "roots", s.roots, "executable", s.executable)
	hungUp := make(chan struct{})
	in := &watched{Reader: c.stdin, ended: func() { endSoon(); close(hungUp) }}
	transport := mcpserver.Transport(in, writeCloser{c.stdout.(*output).Writer}, logger)
	return c.closed(conversation{
		run:    func(ctx context.Context) error { return mcpserver.Run(ctx, server, transport) },
		hungUp: hungUp, close: eng.Close, callTime: callTime, closeTime: closeTime,
	}.serve(ctx, logger), logger)
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
