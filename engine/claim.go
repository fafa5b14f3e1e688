package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Two processes that work on one session lose a turn of it, so an id is claimed
// before a process starts and given back when it is gone: within this engine by
// a set, between servers by a locked file in Options.StateDir.

var errClaimed = errors.New("claimed")

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
	unlock, err = lockPath(filepath.Join(dir, id+".lock"), DefaultTurnTimeout)
	if errors.Is(err, errClaimed) {
		return nil, Errorf(SessionBusy, "session %s is at work in another gatehouse server; continue it there, or fork it", id)
	}
	if err != nil {
		return nil, Errorf(Internal, "claim session %s: %w", id, err)
	}
	return unlock, nil
}

// claimTries bounds how often a file that was removed meanwhile is opened again.
const claimTries = 100

// lockPath locks a file that is removed when it is unlocked. Whoever locks must
// look whether the name still means the same file: the last holder may have
// removed it in between. stale is the age after which a file that a killed
// server left behind no longer counts, where the system has no lock that ends
// with the process.
func lockPath(path string, stale time.Duration) (unlock func(), err error) {
	for range claimTries {
		f, err := openLocked(path, stale)
		if err != nil {
			return nil, err
		}
		mine, err1 := f.Stat()
		named, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, named) {
			return func() {
				os.Remove(path) // while it is locked: nobody else holds this file
				f.Close()
			}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("lock %s: it was removed %d times", path, claimTries)
}
