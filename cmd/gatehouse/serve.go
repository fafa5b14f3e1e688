package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
)

// serve speaks MCP until stdin ends or a signal comes, then ends every session.
func (c *command) serve(ctx context.Context, args []string) int {
	o, err := c.parse("serve", args, false)
	return c.serveTools(ctx, o, err)
}

// serveTools serves what the flags o and the configuration say; err is that of the
// flags.
func (c *command) serveTools(ctx context.Context, o *options, err error) int {
	defer reserveHeap()()
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = c.notNested(o.serves)
	}
	if err != nil {
		return c.failUsage(err)
	}
	level, badLevel := c.env.logLevel()
	logger := newLogger(c.stderr, level)
	s, err := c.configure(o)
	if err != nil {
		return c.failUsage(err)
	}
	offer := s.serverOptions(o.serves, logger)
	offer.ByID = c.env.get(allowDiskResume) == "1"
	serverOf := mcpserver.Prepare(offer)
	st, err := openState(ctx, s, logger)
	if err != nil {
		return c.failUsage(err)
	}
	defer st.close() // after the sessions have ended
	s, closeLog := s.keepDecisions(logger)
	defer closeLog() // after the sessions have ended
	d := openDoor(s, logger)
	defer d.close()
	s.approvers = s.approversHere(d)
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
	if badLevel != "" {
		logger.Warn("environment", "problem", badLevel)
	}
	for _, w := range s.variableWarnings(c.env) {
		logger.Warn("environment", "problem", w)
	}
	for _, w := range s.toolWarnings() {
		logger.Warn("tools", "problem", w)
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
	logger.Info("serving", "families", s.tools.families, "profile", s.profile, "roots", s.roots, "executable", s.executable)
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
