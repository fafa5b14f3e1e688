package engine

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
)

// interruptGrace is how long a stop waits for the CLI to take an interrupt; it
// is the first second of the stop ladder.
const interruptGrace = time.Second

// process is one CLI at work for a session.
type process struct {
	session *Session
	launch  launch
	cli     *cli.Process
	conn    *control.Conn
	release func()          // gives the session's id back, once the process is gone
	ctx     context.Context // of its requests; ends with the process
	end     context.CancelCauseFunc

	initOnce sync.Once
	inited   chan struct{} // closed at the first system/init
	pumped   chan struct{} // closed when its output was read to the end
	deltas   deltas        // for the goroutine that reads it
	noise    int           // the same: lines skipped since they were last told

	governing governing            // calls of tools in this process
	links     map[string]*toolLink // the same: to tool servers, by name
	offline   map[string]bool      // the same: tool servers told not to be connected
	lists     knownLists           // of tools, as the CLI knows them

	// guarded by Session.mu
	cost      float64             // total_cost_usd last told: it is the process's own total
	apiMS     int64               // duration_api_ms last told, the same
	tasks     map[string]struct{} // background work under way
	idleSince time.Time           // zero while a turn runs
	stopping  bool                // it gets no prompt any more
	halted    bool                // it was told to end its turn
	cooled    bool                // ended for being idle
	inTurn    bool
	rested    chan struct{} // closed when it is not, nil while nobody waits for that
	unstarted string        // prompt sent to a warm process that has not begun the turn
}

// ended is why a process's pending questions are withdrawn.
type ended struct{ source string }

func (e ended) Error() string  { return "the process ended (" + e.source + ")" }
func (e ended) Source() string { return e.source }

// firstTurn starts a process, checks its gate, sends the prompt and waits for
// the CLI to tell of the session.
func (s *Session) firstTurn(ctx context.Context, l launch, prompt string, timeout time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.clock = newStartClock(timeout, s.startFloor(), cancel)
	defer l.clock.pause()
	defer context.AfterFunc(s.ctx, func() { cancel(nil) })() // a cancelled session ends its start too
	if err := s.recordLaunch(ctx, l); err != nil {
		return err
	}
	p, err := s.launchChecked(ctx, l)
	if err != nil {
		return err
	}
	late := context.AfterFunc(ctx, p.stop) // of a CLI that does not read its prompt
	err = p.prompt(prompt)
	late()
	if err != nil {
		return s.startError(ctx, p, err)
	}
	select {
	case <-p.inited:
		return nil
	case <-p.pumped:
		if p.begun() {
			return nil // processEnded ends the turn
		}
		return s.startError(ctx, p, nil)
	case <-ctx.Done():
		if p.begun() {
			return nil // it succeeded in that moment
		}
		return s.startError(ctx, p, context.Cause(ctx))
	}
}

// begun reports whether the CLI has told of the session.
func (p *process) begun() bool {
	select {
	case <-p.inited:
		return true
	default:
		return false
	}
}

// errInitTimeout names whichever of the two was longer.
func errInitTimeout(timeout, floor time.Duration) error {
	source := "sessionInitTimeoutMs"
	if floor > timeout {
		source = streamCloseTimeout
	}
	return Errorf(Timeout, "the CLI did not start within %s (%s)", max(timeout, floor), source)
}

// launchChecked starts a process and checks its gate; where an administrator's
// settings drop the lock it starts again without settings files, or refuses.
func (s *Session) launchChecked(ctx context.Context, l launch) (*process, error) {
	s.launching.Lock()
	defer s.launching.Unlock()
	l.isolated = s.isolated
	if !l.isolated && administered() {
		return s.launchAdministered(ctx, l)
	}
	p, locked, err := s.launchOnce(ctx, l)
	if err != nil || locked || l.isolated {
		return p, err
	}
	p.stop()
	if s.engine.o.OnUnsafeSettings == Refuse {
		return nil, refusedUnlocked()
	}
	s.tellIsolated()
	l.isolated = true
	p, _, err = s.launchOnce(ctx, l)
	return p, err
}

// launchAdministered asks a process without settings files first, since a hook
// of a settings file could run before the lock is seen to be missing.
func (s *Session) launchAdministered(ctx context.Context, l launch) (*process, error) {
	bare := l
	bare.isolated = true
	p, locked, err := s.launchOnce(ctx, bare)
	switch {
	case err != nil:
		return nil, err
	case locked:
		p.stop()
		p, _, err = s.launchOnce(ctx, l)
		return p, err
	case s.engine.o.OnUnsafeSettings == Refuse:
		p.stop()
		return nil, refusedUnlocked()
	}
	s.tellIsolated()
	return p, nil
}

func refusedUnlocked() error {
	return &Error{Code: PermissionDenied, Message: errHooksUnlocked.Error(), Err: errHooksUnlocked}
}

// tellIsolated remembers that the session runs without settings files, and says so.
func (s *Session) tellIsolated() {
	s.isolated = true // guarded by s.launching
	s.notice("gate", "managed settings of this machine replace the lock on hooks; the session runs without settings files and without MCP servers of the owner", map[string]any{"isolated": true})
}

// launchOnce starts a process, initializes it and checks its settings; locked
// says whether it holds the lock on hooks.
func (s *Session) launchOnce(ctx context.Context, l launch) (p *process, locked bool, err error) {
	if l.filter, err = s.filtering(ctx); err != nil {
		return nil, false, err
	}
	if p, err = s.spawn(ctx, l); err != nil {
		return nil, false, err
	}
	if _, err := p.conn.Call(ctx, "initialize", s.initialize()); err != nil {
		return nil, false, s.startError(ctx, p, err)
	}
	settings, err := p.conn.Call(ctx, "get_settings", nil)
	if err != nil {
		return nil, false, s.startError(ctx, p, err)
	}
	if locked, err = checkEffective(settings, l.isolated); err != nil {
		p.stop()
		return nil, false, &Error{Code: PermissionDenied, Message: err.Error(), Err: err}
	}
	return p, locked, nil
}

// spawn starts the process and the goroutines that read it.
func (s *Session) spawn(ctx context.Context, l launch) (_ *process, err error) {
	if s.ctx.Err() != nil {
		return nil, Errorf(CancelledCode, "session was cancelled before its process started")
	}
	release, err := s.claim()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	if err := s.catchUp(l); err != nil {
		return nil, err
	}
	config, err := s.writeMcpConfig(l)
	if err != nil {
		return nil, err
	}
	args, err := s.args(l, config)
	if err != nil {
		removeFile(config)
		return nil, err
	}
	l.clock.pause() // starts wait in line
	child, err := cli.StartContext(ctx, cli.Command{
		Path: s.executable(), Args: args, Dir: s.cwd, Env: append(s.childEnvironment(), l.filter.environment()...), Marker: s.id, Registry: s.engine.o.Processes, MaxLine: s.engine.o.MaxLineBytes,
		Stderr: s.newStderrCover(),
	})
	if err != nil {
		removeFile(config)
		return nil, spawnError(ctx, err)
	}
	l.clock.begin()
	p := &process{session: s, launch: l, cli: child, release: release, inited: make(chan struct{}), pumped: make(chan struct{}), tasks: make(map[string]struct{})}
	p.ctx, p.end = context.WithCancelCause(s.ctx)
	p.deltas = p.newDeltas()
	p.conn = control.NewConn(child, p)
	s.mu.Lock()
	s.folders.reset(s.cwd)
	s.proc = p
	s.working.givenLocked(p)
	s.mu.Unlock()
	s.work.Go(func() { // ends with the CLI's output
		defer removeFile(config)
		p.pump()
	})
	s.work.Go(func() { // ends with the process
		<-child.Done()
		p.end(ended{"process"})
	})
	return p, nil
}

func removeFile(path string) {
	if path != "" {
		os.Remove(path)
	}
}

func (s *Session) childEnvironment() []string {
	env := s.engine.environment(s.params.Env)
	if s.params.FileCheckpoints {
		env = append(env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true")
	}
	env = append(env, s.wrapperEnvironment()...)
	return append(env, "CLAUDE_CODE_ENTRYPOINT=gatehouse", "PWD="+s.cwd)
}

// pump reads the CLI until it ends and then closes the books of its turn.
func (p *process) pump() {
	err := p.conn.Serve(p.ctx)
	p.deltas.endAll(func(blockKey) bool { return true })
	p.tellNoise()
	if errors.Is(err, cli.ErrLineTooLong) {
		p.cli.Kill() // what it asked there it would take for allowed when its input ends, as the ladder has it
		p.session.notice("protocol_error", err.Error()+"; the session's process was ended", nil)
	}
	p.end(ended{"process"})
	p.governing.close()
	closed := p.closeLinks()
	if err := p.cli.Stop(); err != nil {
		p.session.tellLeft(err)
	}
	closed()
	p.session.coverRest()
	p.release()
	close(p.pumped)
	p.session.processEnded(p, err)
}

// restLocked notes that the process has ended a turn.
func (p *process) restLocked(now time.Time) {
	p.inTurn, p.idleSince = false, now
	if p.rested != nil {
		close(p.rested)
		p.rested = nil
	}
}

// restingLocked is closed when the turn that the process works on is over.
func (p *process) restingLocked() <-chan struct{} {
	if p.rested == nil {
		p.rested = make(chan struct{})
	}
	return p.rested
}

// prompt sends a user message.
func (p *process) prompt(text string) error {
	s := p.session
	s.mu.Lock()
	p.inTurn, p.idleSince = true, time.Time{}
	s.turn++
	s.deniesInTurn = 0
	s.mu.Unlock()
	return p.conn.Send(map[string]any{
		"type": "user", "session_id": s.id, "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": text},
	})
}

// interrupt asks the CLI to end the turn; its tools are ended with it.
func (p *process) interrupt() {
	ctx, cancel := context.WithTimeout(context.Background(), interruptGrace)
	defer cancel()
	p.conn.Call(ctx, "interrupt", nil) // an error only means that the ladder goes on
}

// interruptFor waits that long at most: a CLI that does not read its input
// blocks the request itself, until stop closes the pipe.
func (p *process) interruptFor(limit time.Duration) {
	done := make(chan struct{})
	p.session.engine.work.Go(func() { // ends with the answer, or when the pipe is closed
		defer close(done)
		p.interrupt()
	})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-p.session.hurry:
	}
}

// stop ends the process and everything it started; it returns when that is done.
func (p *process) stop() {
	s := p.session
	s.mu.Lock()
	busy := p.inTurn && !p.halted
	p.stopping, p.halted = true, true
	if s.hurriedLocked() {
		p.cli.Hurry()
	}
	s.mu.Unlock()
	if busy && !p.cli.Hurried() && p.exitedEarly() == "" {
		p.interruptFor(interruptGrace)
	}
	p.cli.Stop()
	<-p.pumped
}

// exitedEarly says how the process ended, "" while it runs.
func (p *process) exitedEarly() string { return p.cli.Exit() }
