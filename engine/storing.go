package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// What a session leaves in Options.Store: its events, which its log writes, and a
// record of how it stands, which is written anew whenever that changes.

// keeping is a session's place in the store. The zero value keeps nothing.
type keeping struct {
	place  atomic.Pointer[place] // nil: nothing is kept
	title  string                // these four are set before the place
	params []byte                // JSON, redacted
	exact  bool                  // nothing in them was covered or left out
	before *event.SessionRecord  // what the store had of it, nil for a new one

	mu     sync.Mutex // held while the record is written, so that the newest is the last
	wrote  string     // the last one, without its time
	failed error      // of the last write, nil since one worked
}

// syncWithin bounds the wait for the disk where nobody is told of a failure: the
// store syncs by itself soon after.
const syncWithin = 5 * time.Second

// stored says whether everything told so far is in the history; durable: it also
// outlives a power failure. What it could not write before it tries again. Without
// a store there is nothing to wait for.
func (s *Session) stored(ctx context.Context, durable bool) error {
	p := s.keeping.place.Load()
	if p == nil {
		return nil
	}
	if err := s.log.Unsaved(); err != nil {
		return unstored(err)
	}
	if err := s.retryRecord(); err != nil {
		return unstored(err)
	}
	if !durable {
		return nil
	}
	if err := p.Sync(ctx); err != nil {
		return unstored(err)
	}
	return nil
}

// ruleStore denies what cannot be recorded.
const ruleStore = "engine.store"

// unstored explains what a store that cannot be written to refuses.
func unstored(err error) *Error {
	return Errorf(Internal, "refused by rule %s: the session store cannot be written to: %w; it works again as soon as there is room, or the folder of [store] dir is writable", ruleStore, err)
}

// retryRecord writes the record again if the last write of it failed.
func (s *Session) retryRecord() error {
	s.keeping.mu.Lock()
	failed := s.keeping.failed
	s.keeping.mu.Unlock()
	if failed == nil {
		return nil
	}
	return s.putRecord()
}

// keepState writes how the session stands now. It must not be called with
// Session.mu held. An error is logged; until a later write works, stored tells it.
func (s *Session) keepState() { _ = s.putRecord() }

func (s *Session) putRecord() error {
	p := s.keeping.place.Load()
	if p == nil {
		return nil
	}
	k := &s.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.place.Load() != p {
		return errGivenBack // to who took the session up
	}
	r := s.sessionRecord()
	same := fingerprint(r)
	if same == k.wrote && k.failed == nil {
		return nil
	}
	err := p.Put(r)
	switch {
	case errors.Is(err, errGivenBack):
		return err // it is somebody else's now
	case err == nil:
		k.wrote = same
	case k.failed == nil:
		s.engine.log.Error("record of a session", "session", s.id, "error", err)
	}
	k.failed = err
	return err
}

// fingerprint tells records apart that differ in more than their time.
func fingerprint(r event.SessionRecord) string {
	r.Updated = time.Time{}
	raw, err := jsonOf(r)
	if err != nil {
		return ""
	}
	return digest(raw)
}

// keepEnd writes how the session stands and waits until that is on the disk.
func (s *Session) keepEnd() {
	p := s.keeping.place.Load()
	if p == nil || s.putRecord() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.untilDone(), syncWithin)
	defer cancel()
	if err := p.Sync(ctx); err != nil {
		s.engine.log.Error("sync of a session", "session", s.id, "error", err)
	}
}

// giveBack ends the writing of a session that the engine forgets.
func (s *Session) giveBack() {
	p := s.keeping.place.Load()
	if p == nil {
		return
	}
	if err := p.Close(); err != nil {
		s.engine.log.Error("close of a session's history", "session", s.id, "error", err)
	}
}

// untell notes a question before any event tells of it, toldOf that an event has
// told its answer: of those in between a later server tells that they were denied.
func (s *Session) untell(q permission.Question) {
	next, _ := s.log.Next()
	s.mu.Lock()
	if s.untold == nil {
		s.untold = make(map[string]openQuestion)
	}
	s.untold[q.ID] = openQuestion{
		RequestID: q.ID, ToolUseID: q.Request.ToolUseID, AgentID: q.Request.AgentID,
		Tool: lastToolName(q.Request.Tool), SHA256: digest(q.Request.Input), From: next,
	}
	s.mu.Unlock()
	s.keepState()
}

func (s *Session) toldOf(q permission.Question) {
	s.mu.Lock()
	delete(s.untold, q.ID)
	if len(s.untold) == 0 && s.noneUntold != nil {
		close(s.noneUntold)
		s.noneUntold = nil
	}
	s.mu.Unlock()
	s.keepState()
}

// allTold waits until the answers of all questions are told, so that the end of their
// turn comes after them, and at most that long: a full disk is no reason to let a
// process live.
func (s *Session) allTold(limit time.Duration) {
	s.mu.Lock()
	if len(s.untold) == 0 {
		s.mu.Unlock()
		return
	}
	if s.noneUntold == nil {
		s.noneUntold = make(chan struct{})
	}
	none := s.noneUntold
	s.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
}
