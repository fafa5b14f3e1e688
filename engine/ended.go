package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// How a process that ended, or never began, is told.

// startError explains a start that failed: the CLI's own words count most.
func (s *Session) startError(ctx context.Context, p *process, err error) error {
	typed, ended := errors.AsType[*Error](context.Cause(ctx))
	if ended {
		s.startEnded(p, typed)
	}
	p.stop()
	if ended {
		told := *typed // others may hold it
		told.Message += s.stderrTail(p)
		return &told
	}
	if ctx.Err() != nil {
		return Errorf(CancelledCode, "start was cancelled: %w", context.Cause(ctx))
	}
	message := fmt.Sprintf("the CLI ended before the session began (%s)", p.exitedEarly())
	if err != nil && !errors.Is(err, control.ErrClosed) {
		message += ": " + s.redactText(event.SinkEvent, err.Error()) // may hold words of the CLI
	}
	return &Error{Code: Internal, Message: message + s.stderrTail(p), Err: err}
}

// startEnded keeps why a start is ended, before its process is: the CLI answers the
// interrupt with a result that has no reason, or one of its own.
func (s *Session) startEnded(p *process, why *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.working; t != nil && t.proc == p && !t.over && !t.ending && t.aborted == nil {
		t.aborted = why
	}
}

// stderrShown bounds what of stderr goes into a message.
const stderrShown = 2000

// stderrTail is the end of the CLI's stderr for a message. It was redacted as it came.
func (s *Session) stderrTail(p *process) string {
	text := p.cli.Stderr()
	if text == "" {
		return ""
	}
	hint := gitBashHint(text)
	if len(text) > stderrShown {
		text = "…" + strings.ToValidUTF8(text[len(text)-stderrShown:], "")
	}
	return "; stderr: " + text + hint
}

// processEnded closes the books when a process is gone.
func (s *Session) processEnded(p *process, cause error) {
	s.mu.Lock()
	if s.proc == p {
		s.proc = nil
	}
	s.duties.clear()
	t, unstarted := s.working, p.unstarted
	switch {
	case !s.state.Busy():
		err := s.updateLocked(exited)
		s.mu.Unlock()
		if err != nil {
			s.engine.log.Error("session state", "session", s.id, "error", err)
		}
		s.keepState()
	case !t.own && t.proc != p, t.starting && !p.begun(), t.aborted != nil:
		s.mu.Unlock() // who starts the turn, or ends it, goes on
	case unstarted != "":
		t.againLocked()
		s.work.Go(func() { s.resend(t, unstarted) }) // ends when the turn has started or the session ends
		s.mu.Unlock()
	default:
		mine := t.claimLocked()
		s.mu.Unlock()
		if mine {
			s.endTurn(t, event.Error, s.failure(Internal, s.endedInTurn(p, cause)), exited)
		}
	}
}

func (s *Session) endedInTurn(p *process, cause error) string {
	message := fmt.Sprintf("the CLI ended in the middle of a turn (%s)", p.exitedEarly())
	if cause != nil && errors.Is(cause, cli.ErrLineTooLong) {
		message = cause.Error()
	}
	return message + s.stderrTail(p)
}

// resend gives a prompt to a new process: the warm one ended before it began the
// turn, so nothing is done twice.
func (s *Session) resend(t *Turn, prompt string) {
	defer t.end(nil)
	l, err := s.resumption()
	if err == nil {
		err = t.run(t.ctx, l, prompt, cmp.Or(t.within, DefaultInitTimeout))
	}
	if err != nil {
		t.fail(err)
	}
}

// tellLeft tells that processes of the session live on although it ended them. The
// registry keeps them for the next start.
func (s *Session) tellLeft(err error) {
	s.engine.log.Error("processes of a session live on", "session", s.id, "error", err)
	s.notice("processes_left", err.Error()+"; look at them, and end them yourself; the server's guard or the next start tries again", nil)
}

// failure is the result of a turn that ended outside the CLI.
func (s *Session) failure(code Code, message string) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, retryAfter := s.outsideLocked(code, time.Now())
	return Result{
		SessionID: s.id, Result: (&Error{Code: code, Message: message}).Error(), IsError: true, Code: code, ErrorType: kind, RetryAfter: retryAfter,
		DurationMS:        time.Since(s.turnStarted).Milliseconds(),
		SessionTotalTurns: s.info.TotalTurns, SessionTotalCostUSD: s.info.TotalCostUSD,
		PermissionDenials: json.RawMessage("[]"),
	}
}

// fail ends a turn that could not be started, or was aborted. It is claimed.
func (s *Session) fail(t *Turn, err error) {
	r := s.failure(CodeOf(err), strings.TrimPrefix(err.Error(), "Error ["+string(CodeOf(err))+"]: "))
	if errors.Is(err, errBudgetSpent) {
		r.ErrorSubtype = budgetSubtype
	}
	s.endTurn(t, event.Error, r, turnFailed)
}

// gotSlot begins the time of a turn: what it waited in line does not count, nor as a
// time in which nobody asked for the session.
func (s *Session) gotSlot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnStarted = time.Now()
	s.used = s.turnStarted
	s.working.inLine = false
	s.working.startClockLocked()
}

// putSlot gives back the slot of a cancelled session's turn, or its place in the line.
func (s *Session) putSlot() {
	s.mu.Lock()
	t := s.working
	s.mu.Unlock()
	if t != nil {
		t.ticket.leave()
	}
}
