package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// StopParams say how a session is stopped.
type StopParams struct {
	Reason string // shown with the session
	Source string // who stopped it, as Info.CancelledSource
	Force  bool   // no time for the CLI to end its turn and write its transcript
}

// Stop ends what the session does, and its processes, and returns when they are gone,
// or with the cause of ctx's end. The session is Cancelled, but not for good: Continue
// takes it up again, also after a restart where sessions are kept. Stopping what has
// stopped is no error, and with Force it hastens a stop under way. It is admitted as a
// cancel.
func (s *Session) Stop(ctx context.Context, p StopParams) error {
	if err := s.engine.admit(ctx, s, s.admission(ctx, admission.Cancel, "", nil)); err != nil {
		return err
	}
	return s.stopAdmitted(ctx, p)
}

// Stop is Session.Stop for who waits for this turn alone: it stops the session while
// the turn is under way, and nothing once that has ended, or is ending. Force is not
// heeded.
func (t *Turn) Stop(ctx context.Context, p StopParams) error {
	s := t.session
	s.mu.Lock()
	passed := t.passedLocked()
	s.mu.Unlock()
	if passed {
		return nil
	}
	if err := s.engine.admit(ctx, s, s.admission(ctx, admission.Cancel, "", nil)); err != nil {
		return err
	}
	if !s.finishFor(p.Reason, p.Source, true, t) {
		return nil
	}
	return s.awaitStop(ctx, p)
}

// passedLocked reports that a turn is not under way any more; not of nil.
func (t *Turn) passedLocked() bool {
	return t != nil && (t.over || t.ending || t.session.working != t)
}

func (s *Session) stopAdmitted(ctx context.Context, p StopParams) error {
	if s.keptOnly {
		return s.stopKept(p)
	}
	if p.Force {
		s.hasten()
	}
	if !s.finishFor(p.Reason, p.Source, true, nil) {
		s.markStopped(p)
	}
	if n := s.engine.successor(s); n != nil {
		return n.stopAdmitted(ctx, p) // it was taken up in that moment
	}
	return s.awaitStop(ctx, p)
}

// awaitStop waits until nothing of a session is left, and that is kept.
func (s *Session) awaitStop(ctx context.Context, p StopParams) error {
	select {
	case <-s.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.keepState() // of one that had ended before
	err := s.stored(ctx, true)
	switch {
	case errors.Is(err, errGivenBack): // the engine has forgotten it meanwhile
		return s.stopKept(p)
	case err != nil:
		return Errorf(Internal, "session was stopped, but after a restart it may be shown otherwise: %w", err)
	}
	return nil
}

// hasten leaves no time to processes that are being stopped, or are about to be.
func (s *Session) hasten() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hurriedLocked() {
		close(s.hurry)
	}
	if s.proc != nil {
		s.proc.cli.Hurry()
	}
}

func (s *Session) hurriedLocked() bool {
	select {
	case <-s.hurry:
		return true
	default:
		return false
	}
}

// markStopped makes a stop of a cancel that nobody meant so, such as that of an idle
// session.
func (s *Session) markStopped(p StopParams) {
	reason := s.redactText(event.SinkEvent, p.Reason)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Cancelled || s.final || s.stopped {
		return
	}
	s.stopped, s.cancelReason, s.cancelSource, s.cancelledTime = true, reason, p.Source, time.Now()
}

// successor is the session of this run that took s up again; nil: none.
func (e *Engine) successor(s *Session) *Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.sessions[s.id]; n != s {
		return n
	}
	return nil
}

// forGood reports whether the session was cancelled for good.
func (s *Session) forGood() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final
}

// wasStoppedLocked refuses a prompt: a stop holds until somebody takes it back.
func (s *Session) wasStoppedLocked() *Error {
	return Errorf(CancelledCode, "session was stopped (%s); mpm_session_continue, or claude_code_reply with its resumeToken, takes it up again", cmp.Or(visible(s.cancelReason), "no reason was given"))
}
