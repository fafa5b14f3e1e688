package engine

import (
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
	p.stop()
	if typed, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
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
	busy, stopping, inTurn, unstarted := s.state.Busy(), p.stopping, p.inTurn, p.unstarted
	s.mu.Unlock()
	switch {
	case busy && (stopping && !p.cooled || !inTurn):
		return // whoever stops or starts it goes on with the turn, or ends it
	case busy && unstarted != "":
		s.work.Go(func() { s.resend(unstarted) }) // ends when the turn has started or the session ends
		return
	case busy:
		message := fmt.Sprintf("the CLI ended in the middle of a turn (%s)", p.exitedEarly())
		if cause != nil && errors.Is(cause, cli.ErrLineTooLong) {
			message = cause.Error()
		}
		s.endTurn(event.Error, s.failure(Internal, message+s.stderrTail(p)), exited)
	default:
		s.must(exited)
	}
	s.putSlot()
}

// resend gives a prompt to a new process: the warm one ended before it began the
// turn, so nothing is done twice.
func (s *Session) resend(prompt string) {
	t := s.turnUnderWay()
	err := t.again()
	if err != nil {
		t.fail(err)
		return
	}
	l, err := s.resumption()
	if err == nil {
		err = t.run(l, prompt, DefaultInitTimeout)
	}
	t.fail(err)
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
	return Result{
		SessionID: s.id, Result: (&Error{Code: code, Message: message}).Error(), IsError: true, Code: code, ErrorType: SessionError,
		DurationMS:        time.Since(s.turnStarted).Milliseconds(),
		SessionTotalTurns: s.info.TotalTurns, SessionTotalCostUSD: s.info.TotalCostUSD,
		PermissionDenials: json.RawMessage("[]"),
	}
}

// fail ends a turn that could not be started.
func (s *Session) fail(err error) {
	if !s.standing().Busy() {
		return // the end of its process was told already
	}
	r := s.failure(CodeOf(err), strings.TrimPrefix(err.Error(), "Error ["+string(CodeOf(err))+"]: "))
	if errors.Is(err, errBudgetSpent) {
		r.ErrorSubtype = budgetSubtype
	}
	s.endTurn(event.Error, r, turnFailed)
	s.putSlot()
}

func (s *Session) gotSlot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasSlot, s.queued = true, false
	s.working.startClockLocked()
}

func (s *Session) putSlot() {
	s.mu.Lock()
	had := s.hasSlot
	s.hasSlot = false
	s.mu.Unlock()
	if had {
		s.engine.slots.put()
	}
}
