package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
)

const (
	tidyLock  = "tidy.lock"
	tidyFirst = time.Minute // after the start, which is not slowed down; with the first write at once
	tidyEvery = time.Hour
	// tidyStep is how much may be written until the journal is looked at again: a
	// sixteenth of its bound, so that it is hardly ever over it by more.
	tidyStep = 16
	// unmade is how old a folder without a session in it must be to be removed: it
	// may just be made.
	unmade = time.Hour
)

// tidier removes old sessions: one goroutine, begun by start and ended by close.
type tidier struct {
	step  int64
	grown atomic.Int64 // bytes since the last look
	kick  chan struct{}
	stop  chan struct{}
	done  chan struct{}
	over  atomic.Bool // it was told that the bound cannot be kept
}

func (t *tidier) start(j *Journal) {
	t.step = j.o.MaxBytes / tidyStep
	t.grown.Store(t.step) // so that the first write has the journal looked at
	t.kick = make(chan struct{}, 1)
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	go t.run(j) // until close
}

func (t *tidier) close() {
	close(t.stop)
	<-t.done
}

// wrote counts what was written.
func (t *tidier) wrote(n int) {
	if t.grown.Add(int64(n)) < t.step {
		return
	}
	t.grown.Store(0)
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

func (t *tidier) run(j *Journal) {
	defer close(t.done)
	timer := time.NewTimer(tidyFirst)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-t.kick:
		case <-t.stop:
			return
		}
		if _, err := j.tidyUp(); err != nil {
			j.o.Logger.Warn("journal: old sessions stay", "error", err)
		}
		timer.Reset(tidyEvery)
	}
}

// stored is a session as retention sees it.
type stored struct {
	id      string
	bytes   int64
	written time.Time
	empty   bool // no segment is there
}

// tidyUp removes sessions nobody writes: those last written too long ago, then
// those written longest ago until the rest is within the bound. It is done by one
// server at a time, since two would each make all the room that is needed; false:
// another one is at it.
func (j *Journal) tidyUp() (done bool, err error) {
	unlock, err := filelock.Take(filepath.Join(j.o.Folder, tidyLock), lockStale)
	if errors.Is(err, filelock.ErrHeld) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer unlock()
	return true, j.removeOld()
}

func (j *Journal) removeOld() error {
	ids, err := j.ids()
	if err != nil {
		return err
	}
	var all []stored
	var total int64
	for _, id := range ids {
		if s, err := j.measure(id); err == nil {
			all = append(all, s)
			total += s.bytes
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return a.written.Compare(b.written) })
	var failed []error
	for _, s := range all {
		if total <= j.o.MaxBytes && !j.expired(s) {
			continue
		}
		removed, err := j.remove(s)
		if err != nil && len(failed) < maxListErrors {
			failed = append(failed, fmt.Errorf("session %s: %w", s.id, err))
		}
		if removed {
			total -= s.bytes
		}
	}
	j.tellSize(total)
	return errors.Join(failed...)
}

// tellSize warns, once each time, when what is being written alone is over the
// bound: nothing can be removed then.
func (j *Journal) tellSize(total int64) {
	switch over := total > j.o.MaxBytes; {
	case !over:
		j.tidy.over.Store(false)
	case !j.tidy.over.Swap(true):
		j.o.Logger.Warn("journal: the sessions that are at work are over its bound; their histories are cut back to the bound of each session only", "bytes", total, "bound", j.o.MaxBytes)
	}
}

func (j *Journal) expired(s stored) bool {
	age := time.Since(s.written)
	return age > j.o.MaxAge || s.empty && age > unmade
}

// measure looks at a session's files.
func (j *Journal) measure(id string) (s stored, err error) {
	folder, err := j.check(id)
	if err != nil {
		return s, err
	}
	list, err := j.segments(id)
	if err != nil {
		return s, err
	}
	s = stored{id: id, empty: len(list) == 0}
	if s.empty {
		s.written = folder.ModTime()
	}
	for _, one := range list {
		info, err := j.lstat(id, one.name())
		if err != nil {
			return s, err
		}
		s.bytes += info.Size()
		if info.ModTime().After(s.written) {
			s.written = info.ModTime()
		}
	}
	return s, nil
}

// remove removes a session unless somebody writes it, or did since it was
// measured. The lock goes last: until then nobody opens what is left.
func (j *Journal) remove(s stored) (removed bool, err error) {
	if j.writes(s.id) {
		return false, nil
	}
	unlock, err := filelock.Take(j.path(s.id, lockName), lockStale)
	if errors.Is(err, filelock.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer func() {
		unlock()
		if removed {
			_ = j.root.Remove(s.id) // stays where somebody put something into it
		}
	}()
	now, err := j.measure(s.id)
	if err != nil || !now.empty && now.written.After(s.written) {
		return false, err
	}
	list, err := j.segments(s.id)
	if err != nil {
		return false, err
	}
	for _, one := range list {
		if err := j.root.Remove(s.id + "/" + one.name()); err != nil {
			return false, err
		}
	}
	j.seen.drop(s.id)
	j.places.drop(s.id)
	j.o.Logger.Debug("journal: old session removed", "session", s.id, "bytes", s.bytes)
	return true, nil
}
