package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

const (
	// storeTries bounds the wait for another server that closes the books of a
	// session, which takes a moment only.
	storeTries = 50
	storePause = 10 * time.Millisecond
)

// keep gives a new session its place in the store, and one that is resumed its old
// place back. What it says is on the disk when it returns.
func (s *Session) keep(ctx context.Context, l launch, prompt string) error {
	store := s.engine.o.Store
	if store == nil {
		return nil
	}
	s.keepParams()
	if s.heirOf != nil {
		return storeRefusal(s.id, s.inherit(ctx))
	}
	if s.again || l.resume != "" && !l.fork {
		err := s.keepAgain(ctx)
		if !errors.Is(err, event.ErrNotStored) {
			return storeRefusal(s.id, err)
		}
	}
	s.keeping.title = s.title(prompt)
	h, err := store.Create(s.sessionRecord())
	if err != nil {
		return storeRefusal(s.id, err)
	}
	s.settleIn(&place{store: store, id: s.id, open: h})
	return nil
}

// keepAgain goes on in the history of an earlier run.
func (s *Session) keepAgain(ctx context.Context) error {
	p, r, err := s.engine.openKept(s.id)
	if err != nil {
		return err
	}
	if r.Final {
		p.Close()
		return endedForGood()
	}
	s.takeOver(r)
	s.settleIn(p)
	err = s.putRecord()
	if err == nil {
		err = p.Sync(ctx)
	}
	if err != nil {
		s.keeping.place.Store(nil)
		p.Close()
	}
	return err
}

// takeOver continues what a record says.
func (s *Session) takeOver(r event.SessionRecord) {
	s.keeping.before, s.keeping.title, s.created = &r, r.Title, r.Created
	s.parent = r.Parent
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.TotalTurns, s.info.TotalCostUSD = max(s.info.TotalTurns, r.Turns), max(s.info.TotalCostUSD, r.CostUSD)
	if k, err := readKept(r); err == nil {
		s.prompts, s.lastOutput = max(s.prompts, k.Prompts), cmp.Or(s.lastOutput, k.Words)
	}
}

// settleIn makes p the place of the session's events.
func (s *Session) settleIn(p *place) {
	_, next := p.Bounds()
	s.mu.Lock()
	s.busyFrom = next
	s.mu.Unlock()
	s.log.Keep(p)
	s.keeping.place.Store(p)
}

// openKept opens a session that is kept, as its writer, with its books closed.
func (e *Engine) openKept(id string) (*place, event.SessionRecord, error) {
	h, err := e.o.Store.Open(id)
	for range storeTries {
		if !errors.Is(err, event.ErrLocked) || e.live(id) {
			break
		}
		time.Sleep(storePause)
		h, err = e.o.Store.Open(id)
	}
	if err != nil {
		return nil, event.SessionRecord{}, err
	}
	p := &place{store: e.o.Store, id: id, open: h}
	r, err := e.o.Store.Session(id)
	if err == nil {
		r, err = e.closeBooks(p, r)
	}
	if err != nil {
		p.Close()
		return nil, r, err
	}
	return p, r, nil
}

// live says whether a session of this run has the id.
func (e *Engine) live(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[id] != nil
}

func endedForGood() *Error { return Errorf(CancelledCode, "session was cancelled; start a new one") }

// storeRefusal says why a session cannot start for want of a place in the store.
func storeRefusal(id string, err error) error {
	typed, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return typed
	case errors.Is(err, event.ErrLocked):
		return Errorf(SessionBusy, "session %s is kept by another gatehouse server; continue it there, end it there, or fork it", id)
	}
	return unstored(err)
}

// disown notes that a start failed. The record then says so, or is what it was
// before a resume.
func (s *Session) disown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned = true
}

// unkeep gives the place back of a session that never began.
func (s *Session) unkeep() {
	s.disown()
	if s.heirOf != nil && s.keeping.place.Load() != nil {
		s.handBack()
		return
	}
	s.keepEnd()
	s.giveBack()
}

// recallAll is recall, joined with what the store says of the session.
func (e *Engine) recallAll(id string) (resumeRecord, error) {
	r, err := e.recall(id)
	if err != nil || e.o.Store == nil {
		return r, err
	}
	kept, err := e.o.Store.Session(id)
	if errors.Is(err, event.ErrNotStored) {
		return r, nil
	}
	var k keptState
	if err == nil {
		k, err = readKept(kept)
	}
	if err != nil {
		return r, Errorf(Internal, "resume session %s: %w", id, err)
	}
	return r.with(resumeRecord{Turns: kept.Turns, CostUSD: kept.CostUSD, Cancelled: kept.Final, Deny: k.Deny, Taint: k.Taint, Prompt: k.Prompt, Prompts: k.Prompts}), nil
}
