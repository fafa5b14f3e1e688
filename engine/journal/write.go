package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

// create makes a session's first segment; the folder is locked.
func (h *history) create(r event.SessionRecord) error {
	_, err := h.journal.summarize(h.id, false)
	if err == nil {
		return event.ErrStored
	} else if !errors.Is(err, event.ErrNotStored) {
		return err
	}
	// A crash may have left a segment that is none yet.
	if h.segments, err = h.journal.segments(h.id); err != nil {
		return err
	}
	h.sizes = make([]int64, len(h.segments))
	if h.record, err = encodeRecord(r); err != nil {
		return err
	}
	h.mu.Lock() // the syncer knows of it from now on
	err = h.beginSegment()
	h.mu.Unlock()
	if err != nil {
		return err
	}
	if err = errors.Join(h.Sync(context.Background()), syncFolder(h.journal.root, ".")); err != nil {
		s, _ := h.current() // nobody is told of the session: it must not be listed
		_ = h.journal.root.Remove(h.id + "/" + s.name())
	}
	return err
}

// reopen goes on where the session ends; the folder is locked. Nothing is
// written yet: what a crash left is cut off before the first line that follows.
func (h *history) reopen() error {
	s, err := h.journal.summarize(h.id, true)
	if err != nil {
		return err
	}
	h.segments, h.next = s.segments, s.next
	h.sizes = make([]int64, len(s.segments))
	for i, one := range s.segments[:len(s.segments)-1] {
		if info, err := h.journal.lstat(h.id, one.name()); err == nil {
			h.sizes[i] = info.Size()
		}
	}
	h.sizes[len(h.sizes)-1] = s.tail.good
	h.spoilt = s.tail.good == 0 // not even its header can be read
	if h.cut = s.size - s.tail.good; h.cut > 0 {
		h.notes = appendTorn(h.notes, h.cut)
	}
	if s.next > s.tail.next { // an id for each line that was whole once
		h.notes = appendLost(h.notes, s.tail.next, s.next)
	}
	h.record, err = encodeRecord(s.record)
	h.since = h.repeat() // the next event brings the record with it
	return err
}

func (h *history) current() (segment, *int64) {
	i := len(h.segments) - 1
	return h.segments[i], &h.sizes[i]
}

// write writes b in one piece, and returns where it begins. On an error nothing
// of it is left.
func (h *history) write(b []byte) (at int64, err error) {
	if err := h.ready(); err != nil {
		return 0, err
	}
	_, size := h.current()
	at = *size + int64(len(h.notes))
	if len(h.notes) > 0 {
		b = append(h.notes[:len(h.notes):len(h.notes)], b...)
	}
	if n, err := h.file.Write(b); err != nil {
		h.undo(n)
		return 0, err
	}
	*size += int64(len(b))
	h.since += int64(len(b))
	h.notes = nil
	h.noted()
	h.journal.tidy.wrote(len(b))
	return at, nil
}

// undo removes the first bytes of what could not be written whole, a full disk as
// a rule. Where that fails, too, the segment is left as it is: what it ends with
// is no line, and readers pass over it.
func (h *history) undo(n int) {
	_, size := h.current()
	if n > 0 && h.file.Truncate(*size) != nil {
		h.spoilt = true
	}
}

// ready opens the segment to write to.
func (h *history) ready() error {
	if _, size := h.current(); h.spoilt || *size >= h.journal.o.SegmentBytes {
		return h.beginSegment()
	}
	if h.file != nil {
		return nil
	}
	return h.openSegment()
}

// openSegment opens the last segment again.
func (h *history) openSegment() error {
	s, good := h.current()
	f, size, err := h.journal.openFile(h.id, s, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("file %s: %w", s.name(), err)
	}
	if size != *good+h.cut {
		f.Close()
		return fmt.Errorf("file %s: somebody else changed it: %d bytes, not %d", s.name(), size, *good+h.cut)
	}
	if h.cut > 0 {
		if err := f.Truncate(*good); err != nil {
			f.Close()
			return fmt.Errorf("file %s: its torn end cannot be cut off: %w", s.name(), err)
		}
		h.cut = 0
	}
	h.file = f
	return nil
}

// beginSegment makes the segment that follows; the one before is closed when it
// is synced.
func (h *history) beginSegment() error {
	s := segment{number: 1, first: h.next}
	if len(h.segments) > 0 {
		last, _ := h.current()
		s.number = last.number + 1
	}
	f, n, err := h.makeSegment(s)
	if err != nil {
		return fmt.Errorf("file %s: %w", s.name(), err)
	}
	h.retire()
	h.file, h.spoilt, h.cut, h.since = f, false, 0, 0
	h.segments, h.sizes = append(h.segments, s), append(h.sizes, n)
	h.entered = true
	h.noted()
	h.trim()
	return nil
}

func (h *history) makeSegment(s segment) (*os.File, int64, error) {
	name := h.id + "/" + s.name()
	f, err := h.journal.root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, private.FileMode)
	if errors.Is(err, fs.ErrExist) { // left when it could not be removed
		if err = h.journal.root.Remove(name); err == nil {
			f, err = h.journal.root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, private.FileMode)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	line := encodeHeader(h.id, s, h.record)
	if _, err = f.Write(line); err != nil {
		f.Close()
		h.journal.root.Remove(name)
		return nil, 0, err
	}
	return f, int64(len(line)), nil
}

// trim removes the oldest segments of a session that is over its bound.
func (h *history) trim() {
	var total int64
	for _, n := range h.sizes {
		total += n
	}
	n := 0
	for total > h.journal.o.SessionBytes-h.journal.o.SegmentBytes && n < len(h.segments)-1 {
		if err := h.journal.root.Remove(h.id + "/" + h.segments[n].name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.journal.o.Logger.Warn("journal: old segment stays", "session", h.id, "error", err)
			break
		}
		total -= h.sizes[n]
		n++
	}
	if n > 0 {
		h.segments, h.sizes = append([]segment(nil), h.segments[n:]...), append([]int64(nil), h.sizes[n:]...)
		h.marks.cut(h.segments[0].number)
	}
}
