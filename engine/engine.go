// Package engine runs governed Claude Code sessions; it is the API for embedding.
//
// Start with [New] and [Options]; [Engine.Start] gives a [Session], which is
// followed ([Session.Pages]) or polled ([Session.Events], [Session.Wait]), answered
// ([Session.Answer]), continued ([Session.Prompt]) and ended ([Session.Cancel]).
// [Session.Stop] ends it until [Engine.Continue] takes it up again, by its id alone.
// Who waits for the end of one prompt's work begins with [Engine.Begin] or
// [Session.Begin] instead, which give its [Turn].
// [Engine.Close] ends everything it started.
//
//	eng, err := engine.New(engine.Options{Deciders: …, Admission: …})
//	defer eng.Close(ctx)
//	s, err := eng.Start(ctx, engine.StartParams{Prompt: "…"})
//	for page := range s.Pages(ctx) {
//		…
//	}
//
// Tools of your own are [Options].ToolServers, made by package inproc. docs/library.md
// is the guide, examples/embed a whole program.
//
// Goroutines: one sweeper an Engine (ends with Close), and one that looks once at
// what earlier runs left in the store (ends by itself); for each CLI process one
// pump that reads it and one watcher that reports its end (both end with the
// process), and one goroutine a control request (ends with its handler); for each
// tool server a process speaks to, one while messages of the server wait for it; and
// workers that judge and cover calls of tools in this process (they end when they had
// nothing to do for a second, with the process, or with Close). Work of a session takes
// its context from the Engine, never from the call that asked for it.
package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

// Defaults of Options.
const (
	DefaultMinVersion      = "2.1.197"
	DefaultMaxConcurrent   = 5
	DefaultTurnTimeout     = 4 * time.Hour
	DefaultIdleTTL         = 30 * time.Minute
	DefaultWarmTTL         = 30 * time.Second
	DefaultMaxPending      = 64
	DefaultMaxDenials      = 20
	DefaultMaxQuestions    = 30
	DefaultApprovalTimeout = time.Minute
	DefaultInitTimeout     = 10 * time.Second
	DefaultSweepEvery      = 5 * time.Second

	maxSessions = 1000 // sessions of this run at once, ended ones included
)

// Engine owns sessions. It is safe for concurrent use.
type Engine struct {
	o      Options
	chain  permission.Chain
	slots  *slots
	starts *slots // of starts that are being looked at
	procs  processes
	log    *slog.Logger

	auditor  *auditor // nil: nothing is recorded
	programs programs

	sealer *sealer // of resume tokens; nil without a secret
	floor  floor   // of the wait for a start

	versionWithin time.Duration // set by New
	asking        atomic.Int32  // PluginServers that have not returned
	spent         ledger
	filter        *filterLink // nil without one
	bypass        bypass

	spilling sync.Mutex // held while a spilled file is covered

	standing standing

	ctx  context.Context // of every session; ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // sweeper and every session's goroutines

	workers workers.Pool // of deciders for tools in this process

	mu       sync.Mutex
	sessions map[string]*Session
	versions map[string]string     // by executable, checked once
	claimed  map[string]bool       // session ids that a process works for
	reserved map[string]bool       // session ids that are being taken up
	watched  map[string]*event.Log // logs whose observers have not been told the end, by session; nil without observers
	closed   bool

	closing sync.Mutex // held while the books of a kept session are closed
}

// New makes an Engine. The error names the option that is wrong.
func New(o Options) (*Engine, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	fallback := permission.Ask
	if o.Unattended {
		fallback = permission.Deny
	}
	sealer, err := newSealer(o.ResumeSecret)
	if err != nil {
		return nil, err
	}
	filter, err := openFilter(&o)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		o: o, log: o.Logger, sealer: sealer, filter: filter, slots: newSlots(o.MaxConcurrent), starts: newSlots(startsPerCore * runtime.GOMAXPROCS(0)),
		versionWithin: versionWithin,
		chain:         permission.Chain{Deciders: o.Deciders, Default: fallback, Annotators: o.Annotators},
		procs:         newProcesses(o.MaxProcesses),
		sessions:      make(map[string]*Session), versions: make(map[string]string), claimed: make(map[string]bool),
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.auditor, e.programs.ctx = newAuditor(o.Audit), e.ctx
	e.work.Go(e.sweep) // ends with e.ctx
	return e, nil
}

// Session returns a session by id; the error's code is SESSION_NOT_FOUND. A
// session that is looked up is in use: its idle time begins anew.
func (e *Engine) Session(id string) (*Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[id]; s != nil {
		s.touch()
		return s, nil
	}
	return nil, e.notKnown(id)
}

// Sessions lists all sessions, newest first, and those that are only kept (the
// newest 100, see Find) among them. Listing is a decision too;
// sensitive says that folders, system prompts and agents will be shown.
func (e *Engine) Sessions(ctx context.Context, sensitive bool) ([]*Session, error) {
	if err := e.admit(ctx, nil, admission.Request{Action: admission.List, Roots: e.o.Roots, Sensitive: sensitive}); err != nil {
		return nil, err
	}
	return byAge(append(e.all(), e.kept()...)), nil
}

// Inspect returns one session as Find does, where policy lets it be shown.
func (e *Engine) Inspect(ctx context.Context, id string, sensitive bool) (*Session, error) {
	s, err := e.Find(id)
	if err != nil {
		return nil, err
	}
	r := s.admission(ctx, admission.List, "", nil)
	r.Sensitive = sensitive
	if err := e.admit(ctx, s, r); err != nil {
		return nil, err
	}
	return s, nil
}

func (e *Engine) all() []*Session {
	e.mu.Lock()
	list := make([]*Session, 0, len(e.sessions))
	for _, s := range e.sessions {
		list = append(list, s)
	}
	e.mu.Unlock()
	return byAge(list)
}

func (e *Engine) register(s *Session) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.roomLocked(s); err != nil {
		return err
	}
	e.sessions[s.id] = s
	s.heirOf = nil
	return nil
}

// room says whether a session could be registered.
func (e *Engine) room(s *Session) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.roomLocked(s)
}

func (e *Engine) roomLocked(s *Session) error {
	there := e.sessions[s.id]
	switch {
	case e.closed:
		return Errorf(CancelledCode, "the server is shutting down")
	case there != nil && there == s.heirOf && there.forGood():
		return endedForGood() // in the meantime
	case there != nil && there == s.heirOf:
		return nil
	case len(e.sessions) >= maxSessions:
		return Errorf(Limit, "%d sessions are there already; cancel some, or wait until idle ones expire", maxSessions)
	case there != nil:
		return Errorf(SessionBusy, "session %s is being resumed already; poll it", s.id)
	}
	return nil
}

// Close refuses new sessions, cancels every session and waits until nothing of
// them is left or ctx ends. It may be called twice.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	for _, s := range e.all() {
		s.cancel("Server shutting down", "shutdown")
	}
	gone := make(chan struct{})
	go func() { // ends when every session's goroutines have
		for _, s := range e.all() {
			<-s.Done()
		}
		e.stop()
		e.work.Wait()
		e.workers.Close()
		for _, s := range e.all() {
			s.giveBack()
		}
		e.filter.close()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		e.stop()
		return fmt.Errorf("close engine: %w", context.Cause(ctx))
	}
}

// sweep ends what has been idle or running for too long.
func (e *Engine) sweep() {
	e.dropRecords(time.Now())
	tick := time.NewTicker(e.o.SweepEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			if first { // not at once: a start should be quick
				e.work.Go(e.closeAll) // ends when each kept session was looked at, or with e.ctx
			}
			for _, s := range e.all() {
				s.expire(time.Now())
			}
		}
	}
}

// forget drops a session; one resumed under the same id since stays. What the
// store has of it can still be read.
func (e *Engine) forget(s *Session) {
	s.mu.Lock()
	if s.heldBy != nil {
		s.mu.Unlock()
		return // another one has its place
	}
	s.forgotten = true
	finished := s.finished
	s.mu.Unlock()
	if finished {
		s.giveBack() // first: who resumes it finds it free
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.id] == s {
		delete(e.sessions, s.id)
	}
}
