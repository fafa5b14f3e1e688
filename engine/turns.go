package engine

import (
	"context"
	"time"
)

// Turn is the work on one prompt: of a start, a reply, a fork or a resume. It is
// safe for concurrent use.
type Turn struct {
	session *Session
	from    int64
	ctx     context.Context // of the start of its process; ends with that
	end     context.CancelCauseFunc
	done    chan struct{}

	// guarded by Session.mu
	limit   time.Duration // from its slot on; 0 = none of its own
	clock   *time.Timer   // nil before it has a slot
	begun   bool          // its prompt was taken: who aborts it has to end the process
	aborted *Error        // why it was ended from outside, nil else
	over    bool
	result  Result
}

// newTurn is a turn that begins with the event of id from. Who starts it ends its
// context.
func (s *Session) newTurn(from int64) *Turn {
	t := s.ownTurn(from)
	t.begun = false
	t.ctx, t.end = context.WithCancelCause(s.ctx)
	return t
}

// ownTurn is a turn that the CLI began by itself.
func (s *Session) ownTurn(from int64) *Turn {
	return &Turn{session: s, from: from, done: make(chan struct{}), begun: true, ctx: s.ctx, end: func(error) {}}
}

// Session returns the session that works on the turn; of a fork, the new one.
func (t *Turn) Session() *Session { return t.session }

// From is the id of the first event of the turn, or of one shortly before it.
func (t *Turn) From() int64 { return t.from }

// Done is closed when the turn has ended, however it did.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Result is how the turn ended, redacted; the zero value before Done. A turn that
// ended outside the CLI has a Code.
func (t *Turn) Result() Result {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.result
}

// Wait waits for the end of the turn; the error is the cause of ctx's end, and the
// turn goes on then.
func (t *Turn) Wait(ctx context.Context) (Result, error) {
	select {
	case <-t.done:
		return t.Result(), nil
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// Abort ends the turn with why as its result, also while it waits for a slot or for
// its process to start. It returns at once; Done tells the end. The session fails
// and can be continued. It does nothing to a turn that has ended.
func (t *Turn) Abort(why *Error) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.over || t.aborted != nil || s.state == Cancelled {
		return
	}
	t.aborted = why
	t.end(why) // a start under way ends the turn itself
	if p := s.proc; t.begun {
		s.work.Go(func() { s.endAborted(t, p, why) }) // ends with the process, at most the stop ladder
	}
}

// endAborted ends the process of a turn under way; its own last result, if it has
// one, ends the turn, see told.
func (s *Session) endAborted(t *Turn, p *process, why *Error) {
	if p != nil {
		p.end(ended{"abort"}) // pending questions are denied
		p.stop()
	}
	t.fail(why)
}

// again lets the turn be started once more; the error is why it was aborted.
func (t *Turn) again() error {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.aborted != nil {
		return t.aborted
	}
	t.begun = false
	t.ctx, t.end = context.WithCancelCause(s.ctx)
	return nil
}

// taken notes that the turn's process has its prompt. The error is why the turn was
// aborted before.
func (t *Turn) taken() error {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if t.aborted != nil {
		return t.aborted
	}
	t.begun = true
	return nil
}

// run starts a process for the turn, which has its slot.
func (t *Turn) run(l launch, prompt string, timeout time.Duration) error {
	defer t.end(nil)
	if err := t.session.firstTurn(t.ctx, l, prompt, timeout); err != nil {
		return err
	}
	return t.handedOver()
}

// handedOver is taken for a turn whose process has begun: one that was aborted in
// that moment ends with its process.
func (t *Turn) handedOver() error {
	err := t.taken()
	if err == nil {
		return nil
	}
	if p := t.session.current(); p != nil {
		p.end(ended{"abort"})
		p.stop()
	}
	return err
}

// waitForSlot waits for the turn's slot, first come, first served. The error is why
// it was aborted, or that the session ended.
func (t *Turn) waitForSlot() error {
	s := t.session
	s.mu.Lock()
	s.queued = true
	s.mu.Unlock()
	if err := s.engine.slots.wait(t.ctx); err != nil {
		s.mu.Lock()
		s.queued = false
		s.mu.Unlock()
		return err
	}
	s.gotSlot()
	return nil
}

// fail ends the turn if nothing else has.
func (t *Turn) fail(err error) {
	t.session.mu.Lock()
	over := t.over
	t.session.mu.Unlock()
	if !over && err != nil {
		t.session.fail(err)
	}
}

// why says why the turn was ended from outside, nil if it was not.
func (t *Turn) why() *Error {
	if t == nil {
		return nil
	}
	return t.aborted
}

// startClockLocked lets the turn's own limit run.
func (t *Turn) startClockLocked() {
	if t.limit > 0 && t.clock == nil && !t.over {
		limit := t.limit
		t.clock = time.AfterFunc(limit, func() { t.Abort(errTurnTimeout(limit)) })
	}
}

func errTurnTimeout(limit time.Duration) *Error {
	return Errorf(Timeout, "the turn ran longer than the timeout of its call (%s); the session can be continued", limit)
}

// endLocked tells those who wait for the turn.
func (t *Turn) endLocked(r Result) {
	if t == nil || t.over {
		return
	}
	t.over, t.result = true, r
	if t.clock != nil {
		t.clock.Stop()
	}
	close(t.done)
}

// turnUnderWay is the newest turn.
func (s *Session) turnUnderWay() *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working
}
