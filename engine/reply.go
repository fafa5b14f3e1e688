package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
)

// Prompt continues the session, or a fork of it, and returns the session that
// works on it. It returns at once; a fork returns when the CLI has told of it.
// Codes: SESSION_BUSY, CANCELLED, PERMISSION_DENIED, INVALID_ARGUMENT.
func (s *Session) Prompt(ctx context.Context, p ReplyParams) (*Session, error) {
	t, err := s.reply(ctx, p, false)
	if err != nil {
		return nil, err
	}
	return t.session, nil
}

// reply is Prompt; detached: a fork does not wait for the CLI either.
func (s *Session) reply(ctx context.Context, p ReplyParams, detached bool) (_ *Turn, err error) {
	if err := validatePrompt(p.Prompt); err != nil {
		return nil, err
	}
	if s.keptOnly {
		return nil, s.notRunning()
	}
	ticket := s.engine.slots.take() // see Engine.start
	defer func() {
		if err != nil {
			ticket.leave()
		}
	}()
	action := admission.Reply
	if p.Fork {
		action = admission.Fork
	}
	if err := s.engine.admit(ctx, s, s.admission(ctx, action, p.Prompt, p.raw())); err != nil {
		return nil, err
	}
	if err := s.judgeMentions(ctx, p.Prompt); err != nil {
		return nil, err
	}
	if err := s.stored(ctx, false); err != nil {
		return nil, err
	}
	s.touch()
	if p.Fork {
		return s.fork(ctx, p, detached, ticket)
	}
	if s.current() == nil {
		if err := s.engine.procs.room(); err != nil {
			return nil, err
		}
	}
	t, err := s.beginReply(p, ticket)
	if err != nil {
		return nil, err
	}
	if !ticket.ready() {
		s.tellQueued(t)
	}
	s.beside(func() { s.nextTurn(t, p.Prompt) }) // ends when the turn has started or the session ends
	return t, nil
}

// beginReply begins the turn of a reply.
func (s *Session) beginReply(p ReplyParams, ticket *ticket) (*Turn, error) {
	s.mu.Lock()
	err := s.updateLocked(prompted)
	if err != nil {
		if s.stopped {
			err = s.wasStoppedLocked()
		}
		s.mu.Unlock()
		return nil, err
	}
	t := s.newTurn(s.busyFrom)
	t.limit, t.within, t.ticket, s.working = p.TurnTimeout, p.SessionInitTimeout, ticket, t
	if p.PermissionTimeout > 0 {
		s.approvalTTL = p.PermissionTimeout
	}
	s.mu.Unlock()
	s.keepState()
	return t, nil
}

// nextTurn waits for a slot and hands the prompt to the running process, or to
// a new one that resumes the session.
func (s *Session) nextTurn(t *Turn, prompt string) {
	defer t.end(nil)
	err := t.waitForSlot()
	if err == nil {
		err = s.sendTurn(t, prompt)
	}
	if err != nil {
		t.fail(err)
	}
}

// sendTurn gives the prompt to the warm process, which then ends the turn, or to a
// new one.
func (s *Session) sendTurn(t *Turn, prompt string) error {
	p, given, err := s.sendWarm(t, prompt)
	if given || err != nil {
		return err
	}
	if p != nil { // one process per session id, always
		select {
		case <-p.pumped:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	l, err := s.resumption()
	if err != nil {
		return err
	}
	return t.run(t.ctx, l, prompt, cmp.Or(t.within, DefaultInitTimeout))
}

// sendWarm gives the prompt to the process there is, once it has ended a turn that it
// began by itself: else the result of that one would be taken for the prompt's.
func (s *Session) sendWarm(t *Turn, prompt string) (p *process, given bool, err error) {
	s.launching.Lock() // nobody ends the warm process meanwhile
	p, given, rests := s.takeWarm(t, prompt)
	for rests != nil {
		s.launching.Unlock()
		select {
		case <-rests:
		case <-p.pumped:
		case <-t.ctx.Done():
			return nil, false, context.Cause(t.ctx)
		}
		s.launching.Lock()
		p, given, rests = s.takeWarm(t, prompt)
	}
	if given {
		p.relist()
		err = p.prompt(prompt)
	}
	s.launching.Unlock()
	if err != nil {
		p.cli.Stop() // it does not read any more
	}
	return p, given, nil
}

// takeWarm makes the session's process that of the turn. It returns the process there
// is, and, where that is in another turn, what is closed when that is over.
func (s *Session) takeWarm(t *Turn, prompt string) (p *process, taken bool, rests <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = s.proc
	switch {
	case t.aborted != nil, p == nil || p.stopping || !p.begun() || p.exitedEarly() != "":
		return p, false, nil
	case p.inTurn:
		return p, false, p.restingLocked()
	}
	p.unstarted = prompt // should it end before it begins, processEnded sends it again
	t.starting, t.proc = false, p
	return p, true, nil
}

// resumption says how to go on after the process has ended.
func (s *Session) resumption() (launch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.started:
		return s.origin, nil // a resume or fork that never began still is one
	case !s.persists():
		return launch{}, Errorf(SessionNotFound, "the session's process has ended and it was started with persistSession false, so it cannot be resumed; start a new one")
	}
	return launch{resume: s.id}, nil
}

// fork starts a copy of the session under an id of its own.
func (s *Session) fork(ctx context.Context, p ReplyParams, detached bool, ticket *ticket) (*Turn, error) {
	s.mu.Lock()
	state, started, stopped := s.state, s.started, s.stopped
	why := s.wasStoppedLocked()
	s.mu.Unlock()
	switch {
	case stopped:
		return nil, why
	case state == Cancelled:
		return nil, Errorf(CancelledCode, "session was cancelled; start a new one")
	case state.Busy():
		return nil, Errorf(SessionBusy, "session is %s; fork it when it is idle", state)
	case !s.persists() || !started:
		return nil, Errorf(InvalidArgument, "session has no transcript to fork (persistSession false, or it never began)")
	}
	leave, err := s.engine.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	params := s.params
	if p.PermissionTimeout > 0 {
		params.PermissionTimeout = p.PermissionTimeout
	}
	f := s.engine.newSession(params, s.id)
	f.cwd, f.dirs, f.trusted = s.cwd, s.dirs, s.trusted
	f.caller, f.prompt = callerOf(ctx), s.prompt
	f.mark(s.history.tainted()...) // what it has read, the copy has read too
	f.keepsMode(s)

	if err := f.refuseTaken(); err != nil { // by a plugin that came since
		f.end(err)
		return nil, err
	}
	s.mu.Lock()
	f.rules.deny = slices.Clone(s.rules.deny) // what answers forbade stays so
	s.mu.Unlock()
	f.working.limit, f.working.ticket = p.TurnTimeout, ticket
	return f.begin(ctx, launch{resume: s.id, fork: true}, firstPrompt{p.Prompt, p.SessionInitTimeout, detached}, leave)
}
