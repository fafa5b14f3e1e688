package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
)

// To take a session up is to go on with one of which nothing runs, by its id alone:
// one that ended in this run, or one that is only kept. Nobody proves who they are by
// a token, and nobody needs to: whoever calls names no option, so what the session may
// do is what it was started with, less what was forbidden since, and policy is asked
// whether it may go on like that. What people granted ended with it.

// takeUp is Continue for a session of which nothing runs.
func (e *Engine) takeUp(ctx context.Context, old *Session, p ReplyParams) (_ *Turn, err error) {
	if err := old.mayGoOn(p.Fork); err != nil {
		return nil, err
	}
	ticket := e.slots.take() // see Engine.start
	defer func() {
		if err != nil {
			ticket.leave()
		}
	}()
	if !p.Fork {
		put, err := e.reserve(old.id)
		if err != nil {
			return nil, err
		}
		defer put()
	}
	if err := old.ended(ctx); err != nil { // its processes may still be ending
		return nil, err
	}
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	asked := admission.Request{Action: admission.Resume, SessionID: old.id}
	s, err := e.takingUp(old, p)
	if err != nil {
		e.recordRefusal(ctx, nil, asked, err)
		return nil, err
	}
	s.caller, s.working.ticket = callerOf(ctx), ticket
	defer func() {
		if err != nil {
			s.end(err)
			s.goneBack()
		}
	}()
	if err := s.mayTakeUp(ctx, old, p.Prompt, asked); err != nil {
		return nil, err
	}
	if err := e.freeNow(p.Fork, s.id); err != nil {
		return nil, err
	}
	if err := old.hold(s); err != nil {
		return nil, err
	}
	return s.begin(ctx, old.goesOn(p.Fork), firstPrompt{p.Prompt, p.SessionInitTimeout, true}, leave)
}

// mayTakeUp asks everybody who has a say in it, as for a resume.
func (s *Session) mayTakeUp(ctx context.Context, old *Session, prompt string, asked admission.Request) error {
	e := s.engine
	if err := s.sameAs(old); err != nil {
		e.recordRefusal(ctx, s, asked, err)
		return err
	}
	if err := s.refuseCallers(); err != nil {
		e.recordRefusal(ctx, s, asked, err)
		return err
	}
	r := s.admission(ctx, admission.Resume, prompt, s.params.raw())
	r.SessionID = old.id
	r.Target = admission.Target{State: old.standing().String(), OwnedByPeer: identity(callerOf(ctx)) == identity(old.caller)}
	if err := e.admit(ctx, s, r); err != nil {
		return err
	}
	if err := s.judgeMentions(ctx, prompt); err != nil {
		return err
	}
	return e.checkExecutable(ctx, s.executable())
}

// mayGoOn refuses what could never go on.
func (s *Session) mayGoOn(fork bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.final:
		return endedForGood()
	case s.abandoned:
		return s.engine.notKnown(s.id)
	case fork && (!s.persists() || !s.started):
		return Errorf(InvalidArgument, "session has no transcript to fork (persistSession false, or it never began)")
	case s.started && !s.persists():
		return Errorf(SessionNotFound, "session %q has ended and was started with persistSession false, so it cannot go on; start a new one", s.id)
	case s.keptOnly && !s.kept.Exact:
		return s.engine.notHere(s.id, "is of an earlier run, or expired, and not all of what it was started with is kept (secrets were covered, or it had variables, servers, a sandbox, an executable or a debug file of its own)")
	}
	return nil
}

// takingUp makes the session that goes on with an old one.
func (e *Engine) takingUp(old *Session, p ReplyParams) (*Session, error) {
	r, err := e.recallAll(old.id)
	switch {
	case err != nil:
		return nil, err
	case r.Cancelled:
		return nil, endedForGood()
	}
	params := old.sameParams(p)
	if err := params.validate(); err != nil { // a record may be of another version
		return nil, err
	}
	s := e.newSession(params, "")
	s.working.limit = p.TurnTimeout
	s.mark(append(old.history.tainted(), r.Taint...)...)
	s.keepsMode(old)
	s.mu.Lock()
	s.narrowToLocked(r.Mode)
	s.mu.Unlock()
	old.mu.Lock()
	s.rules.deny = joined(old.rules.deny, r.Deny)
	s.prompt = old.prompt
	old.mu.Unlock()
	if p.Fork {
		s.parent = old.id
	} else {
		s.goOnFrom(old, r)
	}
	if err := s.locate(); err != nil {
		s.end(err)
		return nil, err
	}
	return s, nil
}

// sameParams are the options a session was started with.
func (s *Session) sameParams(p ReplyParams) StartParams {
	params := s.params
	params.Raw, params.Prompt = nil, p.Prompt
	params.SessionInitTimeout, params.TurnTimeout = p.SessionInitTimeout, p.TurnTimeout
	s.mu.Lock()
	defer s.mu.Unlock()
	params.PermissionTimeout = s.approvalTTL
	if p.PermissionTimeout > 0 {
		params.PermissionTimeout = p.PermissionTimeout
	}
	if s.keptOnly {
		params.Cwd, params.AdditionalDirs = s.cwd, slices.Clone(s.kept.Dirs)
	}
	return params
}

// goOnFrom takes over who the session is and what it did, for itself and its policies.
func (s *Session) goOnFrom(old *Session, r resumeRecord) {
	s.history.takeOver(&old.history)
	old.mu.Lock()
	defer old.mu.Unlock()
	s.id, s.parent, s.created = old.id, old.parent, old.created
	s.info = old.info // its result is shown until there is another
	s.info.Tools, s.info.Warnings = slices.Clone(old.info.Tools), slices.Clone(old.info.Warnings)
	s.info.TotalTurns, s.info.TotalCostUSD = max(old.info.TotalTurns, r.Turns), max(old.info.TotalCostUSD, r.CostUSD)
	s.started, s.resultID, s.lastTool = old.started, old.resultID, old.lastTool
	s.prompts, s.lastOutput = old.prompts, old.lastOutput
	s.turn, s.toolCalls, s.denies, s.asks = old.turn, old.toolCalls, old.denies, old.asks
	s.again = true
	if old.keptOnly {
		return // its history comes from the store
	}
	s.heirOf, s.log, s.told = old, old.log, nil
	s.busyFrom, _ = s.log.Next()
}

// takeOver copies another history.
func (h *history) takeOver(of *history) {
	of.mu.Lock()
	recent, tools := slices.Clone(of.recent), maps.Clone(of.tools)
	of.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recent, h.tools = recent, tools
}

// sameAs refuses folders that are not those the session was started in: a link may
// have been put in the place of one.
func (s *Session) sameAs(old *Session) error {
	dirs := old.dirs
	if old.keptOnly {
		dirs = old.kept.Dirs
	}
	switch {
	case s.cwd != old.cwd:
		return Errorf(PermissionDenied, "continue refused by rule engine.folder: %q leads to another place than when the session was started; start a new one", old.cwd)
	case !slices.Equal(s.dirs, dirs):
		return Errorf(PermissionDenied, "continue refused by rule engine.folder: an additional directory leads to another place than when the session was started; start a new one")
	}
	return nil
}

// goesOn says how a session of which nothing runs is started again: one that never
// began starts anew.
func (s *Session) goesOn(fork bool) launch {
	s.launching.Lock()
	origin := s.origin
	s.launching.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case fork:
		return launch{resume: s.id, fork: true}
	case s.started:
		return launch{resume: s.id}
	case s.keptOnly && s.parent != "":
		return launch{resume: s.parent, fork: true}
	}
	return launch{resume: origin.resume, at: origin.at, fork: origin.fork}
}
