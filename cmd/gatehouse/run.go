package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// runSession runs one session in this terminal or pipe until its turn ends.
func (c *command) runSession(ctx context.Context, args []string) int {
	o, err := c.parse("run", args, true)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = c.notNested("run")
	}
	if err != nil {
		return c.failUsage(err)
	}
	s, err := c.configure(o)
	if err != nil {
		return c.failUsage(err)
	}
	logger := newLogger(c.stderr, slog.LevelWarn)
	warnUnguarded(logger)
	st, err := openState(ctx, s, logger)
	if err != nil {
		return c.failUsage(err)
	}
	defer st.close() // after the sessions have ended
	s, closeLog := s.keepDecisions(logger)
	defer closeLog() // after the session has ended
	var d ownersDoor
	if s.approvers = []string{"human"}; o.onAsk != onAskDeny { // else nothing asks
		d = openDoor(s, logger)
	}
	defer d.close()
	eng, rollout, err := build(ctx, s, st, c.env, logger, o.onAsk == onAskDeny)
	if err != nil {
		return c.failUsage(err)
	}
	defer rollout.plugins.closeAfter(closeLog, logger) // after the session has ended, and the reloads
	defer rollout.servers.close(logger)                // after the session has ended
	d.open(eng, logger)
	hangup, forget := c.hangups()
	defer forget()
	defer rollout.follow(ctx, eng, func() (*settings, error) { return c.read(o) }, hangup)()
	code := c.follow(engine.WithCaller(ctx, terminalCaller()), eng, engine.StartParams{
		Prompt: o.prompt, Cwd: s.start, Model: o.model,
		AllowedTools: tools(o.allowedTools), MaxTurns: o.maxTurns,
	}, newView(c.stdout, o.json), newAsker(c, o))
	return max(code, c.closeEngine(eng, logger))
}

// follow starts a session, shows it and answers its questions.
func (c *command) follow(ctx context.Context, eng *engine.Engine, p engine.StartParams, v *view, a *asker) int {
	session, err := eng.Start(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return c.fail(startCode(err), err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	wake := news(ctx, session, v)
	for {
		busy := session.Info().State.Busy() // looked at first: the last event comes before the end
		more := v.show(session)
		a.look(ctx, session)
		if !more && !busy {
			return v.finish(session.Info())
		}
		select {
		case <-ctx.Done():
			return c.interrupted(session)
		case line, ok := <-a.lines():
			a.line(ctx, line, ok)
		case <-a.alarm():
			a.automatic(ctx)
		case <-wake:
		}
	}
}

// terminalCaller is who starts a session of gatehouse run.
func terminalCaller() permission.Caller {
	return permission.Caller{Client: "terminal", Version: readVersion().Version, Transport: "terminal", UID: os.Getuid()}
}

// pollEvery bounds how long a change that wakes nobody goes unseen.
const pollEvery = 250 * time.Millisecond

// news sends whenever the session has news. Its goroutine ends with ctx.
func news(ctx context.Context, session *engine.Session, v *view) <-chan struct{} {
	wake := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			waiting, cancel := context.WithTimeout(ctx, pollEvery)
			session.Wait(waiting, v.cursor.Load())
			cancel()
			select {
			case wake <- struct{}{}:
			default:
			}
			time.Sleep(50 * time.Millisecond) // a session that has ended never waits
		}
	}()
	return wake
}

// startCode tells the reasons apart for which a session did not start.
func startCode(err error) int {
	switch code := engine.CodeOf(err); {
	case code == engine.PermissionDenied:
		return exitRefused
	case code == engine.InvalidArgument && strings.Contains(err.Error(), "executable "):
		return exitNoCLI
	case code == engine.InvalidArgument:
		return exitUsage
	}
	return exitTurnFailed
}

// interrupted ends the session after a signal.
func (c *command) interrupted(session *engine.Session) int {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := session.Cancel(ctx, "Interrupted at the terminal", "signal"); err != nil {
		return c.fail(exitInterrupted, err)
	}
	fmt.Fprintln(c.stderr, "gatehouse: interrupted; the session was ended")
	return exitInterrupted
}
