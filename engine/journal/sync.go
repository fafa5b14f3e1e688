package journal

import (
	"context"
	"errors"
	"os"
	"time"
)

const (
	maxRetired     = 4                // segments of a session that wait to be synced
	closeIdleAfter = 10 * time.Second // a session's file that nobody wrote to
)

// syncing is what a history knows of being synced; its lock is the history's.
type syncing struct {
	written int64      // writes so far
	synced  int64      // of them outlive a power failure
	retired []*os.File // earlier segments that are not synced
	entered bool       // the folder has a new name in it
	dropped error      // of a retired one that could not be synced, for the next sync to tell

	waiting *flight   // who asked since the last one began
	flying  bool      // a goroutine works through them
	marked  bool      // the syncer knows that something is written
	last    time.Time // of the last write
}

// flight is one sync that many may wait for.
type flight struct {
	done chan struct{}
	err  error // set before done is closed
}

// Sync waits until what was written outlives a power failure, see
// [event.History].
func (h *history) Sync(ctx context.Context) error {
	f := h.join()
	if f == nil {
		return nil
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns a sync that has not begun, nil where nothing is to be synced.
func (h *history) join() *flight {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.synced == h.written {
		return nil
	}
	if h.waiting == nil {
		h.waiting = &flight{done: make(chan struct{})}
	}
	if !h.flying {
		h.flying = true
		h.journal.syncs.ask(h)
	}
	return h.waiting
}

// batch is what one sync of a history covers.
type batch struct {
	flight  *flight
	target  int64 // writes
	file    *os.File
	retired []*os.File
	entered bool
	dropped error
}

// depart begins a sync: who asks from now on waits for the next.
func (h *history) depart() batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := batch{h.waiting, h.written, h.file, h.retired, h.entered, h.dropped}
	h.waiting, h.retired, h.entered, h.dropped = nil, nil, false, nil
	return b
}

// sync syncs each file by itself.
func (b batch) sync(h *history) (failed error) {
	for _, f := range b.retired {
		failed = errors.Join(failed, syncFile(f))
	}
	if b.file != nil {
		failed = errors.Join(failed, syncFile(b.file))
	}
	if b.entered {
		failed = errors.Join(failed, syncFolder(h.journal.root, h.id))
	}
	return failed
}

// arrive ends a sync, and asks for the next where somebody waits.
func (h *history) arrive(b batch, failed error) {
	failed = errors.Join(failed, b.dropped)
	for _, f := range b.retired {
		failed = errors.Join(failed, f.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if failed == nil {
		h.synced = max(h.synced, b.target)
	} else {
		// The system forgets what it could not write: a later sync would report
		// success. What follows goes to a segment of its own, behind the record.
		h.spoilt, h.entered = true, h.entered || b.entered
	}
	b.flight.err = failed
	close(b.flight.done)
	if h.flying = h.waiting != nil; h.flying {
		h.journal.syncs.ask(h)
	}
}

// fly is a whole sync of one history.
func (h *history) fly() {
	b := h.depart()
	h.arrive(b, b.sync(h))
}

// noted marks a write; h.mu is held.
func (h *history) noted() {
	h.written++
	h.last = time.Now()
	if !h.marked {
		h.marked = true
		h.journal.syncs.mark(h)
	}
}

// retire puts the last segment away until it is synced; h.mu is held.
func (h *history) retire() {
	if h.file == nil {
		return
	}
	h.retired = append(h.retired, h.file)
	h.file = nil
	if len(h.retired) <= maxRetired {
		return
	}
	// Somebody writes faster than the disk: he waits for it.
	h.dropped = errors.Join(h.dropped, syncFile(h.retired[0]), h.retired[0].Close())
	h.retired = h.retired[1:]
}

// closeFiles closes what is open; h.mu is held, or nobody else has h.
func (h *history) closeFiles() {
	for _, f := range append(h.retired, h.file) {
		if f != nil {
			f.Close()
		}
	}
	h.retired, h.file = nil, nil
}
