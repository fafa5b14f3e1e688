package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Cancel ends the session for good. It returns at once; Done tells when nothing
// of it is left. Cancelling twice is an error with code CANCELLED.
func (s *Session) Cancel(ctx context.Context, reason, source string) error {
	if err := s.engine.admit(ctx, s, s.admission(ctx, admission.Cancel, "", nil)); err != nil {
		return err
	}
	if s.keptOnly {
		return s.cancelKept(reason, source)
	}
	cancelled := s.cancel(reason, source) || s.finalize(reason, source)
	if n := s.engine.successor(s); n != nil {
		return n.Cancel(ctx, reason, source) // it was taken up in that moment
	}
	if !cancelled {
		return Errorf(CancelledCode, "session was cancelled already")
	}
	s.keepState() // it may be for good only now
	if err := s.remember(); err != nil {
		return Errorf(Internal, "session was cancelled, but that could not be kept, so a resume token may revive it: %w", err)
	}
	if err := s.stored(ctx, true); err != nil && !errors.Is(err, errGivenBack) {
		return Errorf(Internal, "session was cancelled, but after a restart it may be shown otherwise: %w", err)
	}
	return nil
}

// finalize makes a cancel for good of one that nobody meant so; false when it
// was for good before.
func (s *Session) finalize(reason, source string) bool {
	reason = s.redactText(event.SinkEvent, reason)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.final {
		return false
	}
	s.final, s.stopped = true, false
	s.cancelReason, s.cancelSource, s.cancelledTime = reason, source, time.Now()
	return true
}

// unfinished are the sources of cancels that nobody meant for good: such a
// session may be resumed by its token.
var unfinished = []string{"shutdown", "start", "idle"}

// cancel changes the state and begins the stop; false when it was cancelled before.
func (s *Session) cancel(reason, source string) bool {
	return s.finishFor(reason, source, false, nil)
}

// finishFor is cancel; stopped: as Stop does it. With a turn it does nothing unless
// that one is under way.
func (s *Session) finishFor(reason, source string, stopped bool, only *Turn) bool {
	reason = s.redactText(event.SinkEvent, reason) // sessions are listed with it
	s.mu.Lock()
	if only.passedLocked() || s.updateLocked(cancelled) != nil {
		s.mu.Unlock()
		return false
	}
	s.cancelReason, s.cancelSource, s.cancelledTime, s.stopped = reason, source, time.Now(), stopped
	s.final = !stopped && !slices.Contains(unfinished, source)
	p, final := s.proc, s.final
	s.mu.Unlock()
	s.keepState()
	if final {
		s.remember()
	}
	if p != nil {
		p.end(ended{"cancel"}) // pending questions are denied
	}
	s.append(event.Notice, map[string]any{"type": "cancelled", "message": visible(reason), "source": source})
	s.engine.work.Go(func() { s.finish(p) }) // ends when the process and its goroutines are gone, at most the stop ladder
	return true
}

// finish ends the process, then everything that waits on the session.
func (s *Session) finish(p *process) {
	defer close(s.done)
	if p != nil {
		p.stop()
	}
	s.end(ended{"cancel"})
	s.launching.Lock() // a start under way sees the end of the context and leaves
	late := s.current()
	s.launching.Unlock()
	if late != nil && late != p {
		late.stop()
	}
	s.putSlot()
	s.work.Wait()
	s.putSlot() // of a turn that took its slot in the meantime
	s.tellUnfinished()
	s.tellCancelled()
	s.unobserve()
	s.recordEnd()
	s.keepEnd()
	s.mu.Lock()
	s.finished = true
	forgotten := s.forgotten
	s.mu.Unlock()
	if forgotten {
		s.giveBack()
	}
}

// tellUnfinished tells the end of a turn that a shutdown or a stop cut off, for those
// who read the session later: to them it is one that failed, and can be continued.
func (s *Session) tellUnfinished() {
	s.mu.Lock()
	cutOff := s.state == Cancelled && !s.final && !s.abandoned && s.before.Busy()
	stopped, reason := s.stopped, s.cancelReason
	s.mu.Unlock()
	switch {
	case cutOff && stopped:
		s.endTurn(nil, event.Error, s.failure(CancelledCode, cmp.Or(reason, "session was stopped")), turnFailed)
	case cutOff && s.keeping.place.Load() != nil:
		s.endTurn(nil, event.Error, s.failure(Internal, endedWithServer+"; send a reply to go on"), turnFailed)
	}
}

// tellCancelled ends the turn that the cancel cut off for those who wait for it.
func (s *Session) tellCancelled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := &Error{Code: CancelledCode, Message: cmp.Or(s.cancelReason, "session was cancelled")}
	r := Result{PermissionDenials: json.RawMessage("[]")}
	switch {
	case s.before.Busy(): // cut off without a result
		s.turnEndedLocked()
	case s.info.Result != nil:
		r = *s.info.Result // what it took is told, too
	}
	r.SessionID, r.Result, r.IsError, r.Code, r.ErrorType, r.RetryAfter = s.id, why.Error(), true, CancelledCode, SessionError, 0
	r.SessionTotalTurns, r.SessionTotalCostUSD = s.info.TotalTurns, s.info.TotalCostUSD
	s.working.endLocked(r)
}

func (s *Session) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}
