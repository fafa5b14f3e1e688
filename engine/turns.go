package engine

import (
	"context"
	"time"
)

// Turn is the work on one prompt: of a start, a reply, a fork or a resume. It is
// safe for concurrent use.
//
// Three parties work on a turn, and each knows when it is its to end: who starts it
// (starting is set: it waits for the slot and the process), then the process (its
// result, or its end), and who aborts it. claimLocked settles between them.
type Turn struct {
	session *Session
	own     bool          // the CLI began it by itself
	within  time.Duration // how long its process may take to start; 0 = DefaultInitTimeout. Set like ticket
	ticket  *ticket       // for its slot; nil: it needs none. Set before the turn is known to others
	done    chan struct{}

	// guarded by Session.mu
	from     int64
	ctx      context.Context // of its start; ends with that. Who starts it may read it
	end      context.CancelCauseFunc
	limit    time.Duration // from its slot on; 0 = none of its own
	clock    *time.Timer   // nil before it has a slot
	starting bool          // who starts it fails it, too
	inLine   bool          // it never had its slot, or does not know of it yet: its time does not run
	proc     *process      // has the prompt, or will; nil before
	aborted  *Error        // why it was ended from outside, nil else
	timedOut bool          // aborted by its own limit
	ending   bool          // claimed, see claimLocked
	over     bool
	result   Result
}

// newTurn is a turn that begins with the event of id from. Who starts it ends its
// context.
func (s *Session) newTurn(from int64) *Turn {
	t := &Turn{session: s, from: from, done: make(chan struct{}), starting: true, inLine: true}
	t.ctx, t.end = context.WithCancelCause(s.ctx)
	return t
}

// ownTurn is a turn that the CLI began by itself.
func (s *Session) ownTurn(from int64) *Turn {
	return &Turn{session: s, own: true, from: from, done: make(chan struct{}), ctx: s.ctx, end: func(error) {}}
}

// Session returns the session that works on the turn; of a fork, the new one.
func (t *Turn) Session() *Session { return t.session }

// From is the id of the first event of the turn, or of one shortly before it.
func (t *Turn) From() int64 {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.from
}

// Done is closed when the turn has ended, however it did.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Result is how the turn ended, redacted; the zero value before Done. A turn that
// ended outside the CLI has a Code.
func (t *Turn) Result() Result {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.result
}

// TimedOut reports whether the turn's own limit ended it.
func (t *Turn) TimedOut() bool {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.timedOut && t.result.Code == Timeout
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
// and can be continued. It does nothing to a turn that has ended, or is ending. nil
// is a cancel without a reason.
func (t *Turn) Abort(why *Error) {
	if why == nil {
		why = Errorf(CancelledCode, "the turn was aborted")
	}
	t.abort(why, false)
}

func (t *Turn) abort(why *Error, timedOut bool) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.over || t.ending || t.aborted != nil || s.state == Cancelled {
		return
	}
	t.aborted, t.timedOut = why, timedOut
	t.end(why) // a start under way ends the turn itself
	if t.proc != nil || !t.starting {
		t.stopLocked()
	}
}

// stopLocked ends the process of an aborted turn.
func (t *Turn) stopLocked() {
	p := t.proc
	if p != nil {
		p.stopping = true // from now on: the next turn must not be given to it
	}
	t.session.work.Go(func() { t.endAborted(p) }) // ends with the process, at most the stop ladder
}

// endAborted ends the process of a turn under way; its own last result, if it has
// one, ends the turn, see handleResult.
func (t *Turn) endAborted(p *process) {
	if p != nil {
		p.end(ended{"abort"}) // pending questions are denied
		t.session.allTold(interruptGrace)
		p.stop()
	}
	s := t.session
	s.mu.Lock()
	starting, why := t.starting, t.aborted
	s.mu.Unlock()
	if !starting {
		t.fail(why)
	}
}

// againLocked lets the turn be started once more.
func (t *Turn) againLocked() {
	t.starting, t.proc = true, nil
	t.ctx, t.end = context.WithCancelCause(t.session.ctx)
}

// givenLocked notes the process that will get, or gets, the turn's prompt.
func (t *Turn) givenLocked(p *process) {
	t.proc = p
	if t.aborted != nil {
		t.stopLocked()
	}
}

// run starts a process for the turn, which has its slot. The error is why it could
// not, or that the turn was aborted.
func (t *Turn) run(ctx context.Context, l launch, prompt string, timeout time.Duration) error {
	err := t.session.firstTurn(ctx, l, prompt, timeout)
	s := t.session
	s.mu.Lock()
	t.starting = false
	if t.aborted != nil && (err == nil || t.timedOut) { // what its time's end broke off failed for that
		err = t.aborted
	}
	p := t.proc
	s.mu.Unlock()
	if err != nil && p != nil {
		p.end(ended{"abort"})
		p.stop()
	}
	return err
}

// waitForSlot waits for the turn's slot. The error is why it was aborted, or that
// the session ended.
func (t *Turn) waitForSlot() error {
	if err := t.ticket.wait(t.ctx); err != nil {
		return err
	}
	t.session.gotSlot()
	return nil
}

// fail ends the turn, unless something else has, or will.
func (t *Turn) fail(err error) {
	s := t.session
	s.mu.Lock()
	mine := t.claimLocked()
	s.mu.Unlock()
	if mine && err != nil {
		s.fail(t, err)
	}
}

// claimLocked lets its one caller that gets true end the turn by Session.endTurn. A
// turn that a cancel cuts off is ended when nothing of the session is left.
func (t *Turn) claimLocked() bool {
	if t.over || t.ending || t.session.state == Cancelled {
		return false
	}
	t.ending = true
	return true
}

// resultLocked says whether a result that p tells ends the turn under way, which it
// then claims, or finds none to end; and why that was aborted. One of work in the
// background, while the turn waits for its slot, does not.
func (s *Session) resultLocked(p *process, failed bool) (claimed *Turn, ends bool, aborted *Error) {
	t := s.working
	switch {
	case t == nil || t.over || s.state == Cancelled:
		return nil, true, nil
	case !t.own && t.proc != p, s.state == Starting && !failed:
		return nil, false, nil
	case !t.claimLocked():
		return nil, false, t.aborted
	}
	return t, true, t.aborted
}

// startClockLocked lets the turn's own limit run.
func (t *Turn) startClockLocked() {
	if t.limit > 0 && t.clock == nil && !t.over {
		limit := t.limit
		t.clock = time.AfterFunc(limit, func() { t.abort(errTurnTimeout(limit), true) })
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

// queued says whether the turn waits for its slot.
func (t *Turn) queued() bool { return t != nil && !t.over && t.ticket.waits() }
