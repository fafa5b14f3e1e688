package engine

import (
	"context"
	"errors"
)

// Who takes a session up gets its id, its log and its place in the store, and nobody
// else may have them meanwhile: not a second one who takes it up, and not the engine,
// which forgets what ended long ago.

// errForgotten says that the engine forgets the session at this moment.
var errForgotten = errors.New("the session is being forgotten")

// reserve makes sure that one session is taken up once at a time.
func (e *Engine) reserve(id string) (put func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reserved[id] {
		return nil, Errorf(SessionBusy, "session %s is being continued already; wait until it is idle", id)
	}
	if e.reserved == nil {
		e.reserved = make(map[string]bool) // at most one for each call
	}
	e.reserved[id] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.reserved, id)
	}, nil
}

// freeNow tells at once, and not as the result of the turn, that a process of the
// session still lives: one of a server that was killed, or of one with another store.
func (e *Engine) freeNow(fork bool, id string) error {
	if fork {
		return nil
	}
	free, err := e.claim(id)
	if err == nil {
		free()
	}
	return err
}

// hold keeps an ended session from being forgotten while s takes it up.
func (s *Session) hold(heir *Session) error {
	if heir.heirOf != s {
		return nil // it is only kept, or forked
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.forgotten:
		return Errorf(SessionBusy, "session %s: %w; try again in a moment", s.id, errForgotten)
	case s.heldBy != nil:
		return Errorf(SessionBusy, "session %s was continued already; wait until it is idle", s.id)
	}
	s.heldBy = heir
	return nil
}

// goneBack ends the hold on a session whose take-up came to nothing.
func (s *Session) goneBack() {
	s.engine.mu.Lock()
	old := s.heirOf
	s.engine.mu.Unlock()
	if old == nil {
		return // there is none, or s has taken it up
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	if old.heldBy == s {
		old.heldBy = nil
	}
}

// takePlace makes a session that is resumed by its token the one that takes up the
// session of this run that was stopped, where there is one. put is called when it is
// registered.
func (s *Session) takePlace(ctx context.Context, fork bool) (put func(), err error) {
	e := s.engine
	e.mu.Lock()
	old := e.sessions[s.id]
	e.mu.Unlock()
	if fork || old == nil || old.standing() != Cancelled || old.forGood() {
		return func() {}, nil // if it is there, begin says so
	}
	if put, err = e.reserve(s.id); err != nil {
		return nil, err
	}
	if err = old.ended(ctx); err == nil {
		s.mu.Lock()
		r := resumeRecord{Turns: s.info.TotalTurns, CostUSD: s.info.TotalCostUSD}
		s.mu.Unlock()
		s.mark(old.history.tainted()...)
		s.goOnFrom(old, r)
		err = old.hold(s)
	}
	if err != nil {
		put()
		return nil, err
	}
	return put, nil
}

// ended waits until nothing of a cancelled session is left.
func (s *Session) ended(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return Errorf(CancelledCode, "the call was cancelled while the session ended: %w", context.Cause(ctx))
	}
}

// inherit makes the place of the session that s takes up its own.
func (s *Session) inherit(ctx context.Context) error {
	old := s.heirOf
	if old.keeping.place.Load() == nil {
		return nil // nothing was kept
	}
	r, err := s.engine.o.Store.Session(s.id)
	switch {
	case err != nil:
		return err
	case r.Final:
		return endedForGood()
	}
	s.takeOver(r)
	p := old.keeping.release()
	s.keeping.place.Store(p)
	err = s.putRecord()
	if err == nil {
		err = p.Sync(ctx)
	}
	if err != nil {
		s.handBack()
	}
	return err
}

// handBack undoes inherit.
func (s *Session) handBack() {
	old := s.heirOf
	p := s.keeping.release()
	old.keeping.mu.Lock()
	old.keeping.wrote = "" // the record is that of s
	old.keeping.place.Store(p)
	old.keeping.mu.Unlock()
	old.keepEnd()
	s.engine.mu.Lock()
	closed := s.engine.closed
	s.engine.mu.Unlock()
	if closed {
		old.giveBack() // Close may have come by while s had it
	}
}

// release takes the place away from a session, so that it writes nothing any more.
func (k *keeping) release() *place {
	k.mu.Lock() // a write under way is the last one
	defer k.mu.Unlock()
	return k.place.Swap(nil)
}
