package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// history is the history of one session, for its writer.
//
// Each Append is one write(2), and nothing is left in this process when it
// returns: the lock is held for that long and never while something is synced.
type history struct {
	journal *Journal
	id      string
	unlock  func()
	marks   marks

	mu       sync.Mutex
	segments []segment
	sizes    []int64  // of segments
	file     *os.File // the last segment; nil: it is opened when it is written to
	spoilt   bool     // it cannot be written to any more, another has to begin
	cut      int64    // bytes behind its size that a crash left, to be cut off
	notes    []byte   // lines that tell of it, for the next write
	next     int64
	record   json.RawMessage
	since    int64 // bytes written since the record was
	closed   bool

	syncing
}

// repeatEvery is how many bytes follow a record until it is written again, at
// least: a sixteenth of the journal is records at most.
const repeatEvery = 64 << 10

func (h *history) repeat() int64 { return max(repeatEvery, 16*int64(len(h.record))) }

var lineBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// maxPooled bounds the buffers that are kept for the next line.
const maxPooled = 64 << 10

// Append writes an event, see [event.History].
func (h *history) Append(e event.Event) error {
	pooled := lineBuffers.Get().(*[]byte)
	defer func() {
		if cap(*pooled) <= maxPooled {
			lineBuffers.Put(pooled)
		}
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.append(pooled, e); err != nil {
		return fmt.Errorf("journal: session %s: event %d: %w", h.id, e.ID, err)
	}
	return nil
}

func (h *history) append(pooled *[]byte, e event.Event) error {
	switch {
	case h.closed:
		return os.ErrClosed
	case e.ID < h.next || e.ID > maxID:
		return fmt.Errorf("%w: the next id is %d", event.ErrUnfit, h.next)
	}
	b := (*pooled)[:0]
	if e.ID > h.next {
		b = appendLost(b, h.next, e.ID)
	}
	before := len(b)
	b, err := appendEvent(b, e)
	*pooled = b
	if err != nil {
		return err
	}
	repeat := h.since+int64(len(b)) > h.repeat()
	if repeat {
		b = appendRecord(b, e.ID+1, h.record)
		*pooled = b
	}
	at, err := h.write(b)
	if err != nil {
		return err
	}
	h.marks.add(mark{h.segments[len(h.segments)-1].number, e.ID, at + int64(before)})
	h.next = e.ID + 1
	if repeat {
		h.since = 0
	}
	return nil
}

// Put replaces the session's record, see [event.History].
func (h *history) Put(r event.SessionRecord) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.put(r); err != nil {
		return fmt.Errorf("journal: session %s: %w", h.id, err)
	}
	return nil
}

func (h *history) put(r event.SessionRecord) error {
	if h.closed {
		return os.ErrClosed
	}
	if r.ID != h.id {
		return fmt.Errorf("%w: record of session %q", event.ErrUnfit, r.ID)
	}
	record, err := encodeRecord(r)
	if err != nil {
		return err
	}
	if _, err := h.write(appendRecord(nil, h.next, record)); err != nil {
		return err
	}
	h.record, h.since = record, 0
	return nil
}

// Read returns events, see [event.History].
func (h *history) Read(w event.Window) (event.Page, error) {
	p, err := h.journal.read(w, h.look)
	if err != nil {
		return p, fmt.Errorf("journal: session %s: %w", h.id, err)
	}
	return p, nil
}

// look returns the session as it is now. After Close it is another's to write.
func (h *history) look() (view, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return h.journal.look(h.id)
	}
	return view{id: h.id, segments: slices.Clone(h.segments), next: h.next, marks: &h.marks}, nil
}

// Bounds returns the lowest id and the next one, see [event.History].
func (h *history) Bounds() (first, next int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.segments[0].first, h.next
}

// told is the record for listings.
func (h *history) told() (event.SessionRecord, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var r event.SessionRecord
	if err := json.Unmarshal(h.record, &r); err != nil {
		return r, err
	}
	r.Next, r.Live = h.next, !h.closed
	return r, nil
}

// Close gives the session back, see [event.History]. What was written is synced.
func (h *history) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	var failed error
	if h.since > 0 { // so that a list finds it at once
		if _, failed = h.write(appendRecord(nil, h.next, h.record)); failed == nil {
			h.since = 0
		}
	}
	h.closed = true
	h.mu.Unlock()
	failed = errors.Join(failed, h.Sync(context.Background()))
	h.mu.Lock()
	h.closeFiles()
	h.mu.Unlock()
	h.unlock()
	h.journal.forget(h)
	if failed != nil {
		return fmt.Errorf("journal: session %s: close: %w", h.id, failed)
	}
	return nil
}
