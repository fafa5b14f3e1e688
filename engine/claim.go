package engine

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
)

// Two processes that work on one session lose a turn of it, so an id is claimed
// before a process starts and given back when it is gone: within this engine by
// a set, between servers by a locked file in Options.StateDir.

// claim takes the session's id and the room for a process; release gives both back
// and may be called once.
func (s *Session) claim() (release func(), err error) {
	if err := s.engine.procs.take(); err != nil {
		return nil, err
	}
	free, err := s.engine.claim(s.id)
	if err != nil {
		s.engine.procs.put()
		return nil, err
	}
	return func() {
		free()
		s.engine.procs.put()
	}, nil
}

// claim takes the id; release gives it back and may be called once.
func (e *Engine) claim(id string) (release func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.claimed[id] {
		return nil, Errorf(SessionBusy, "session %s: its last process has not ended yet; try again in a moment", id)
	}
	unlock, err := e.lockFile(id)
	if err != nil {
		return nil, err
	}
	e.claimed[id] = true
	return func() {
		unlock()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.claimed, id)
	}, nil
}

func (e *Engine) lockFile(id string) (unlock func(), err error) {
	if e.o.StateDir == "" {
		return func() {}, nil
	}
	dir := filepath.Join(e.o.StateDir, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Errorf(Internal, "claim session %s: %w (XDG_STATE_HOME names another folder)", id, err)
	}
	unlock, err = filelock.Take(filepath.Join(dir, id+".lock"), DefaultTurnTimeout)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, Errorf(SessionBusy, "session %s is at work in another gatehouse server; continue it there, or fork it", id)
	}
	if err != nil {
		return nil, Errorf(Internal, "claim session %s: %w", id, err)
	}
	return unlock, nil
}
