package event

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// PageBytes bounds the payload of a page that [Log.After] reads from the history.
const PageBytes = 1 << 20

// unreadFor is how long readers are sent for a page again that cannot be read, as
// for want of open files. After that its events are told as lost.
const unreadFor = 30 * time.Second

// Keep makes h the log's history: what is appended from now on is written to it,
// and ids go on where it ends; what it holds is read from it. Events that were
// appended before are written first, and their ids move up. A log has one history,
// for good; its writer closes it when nothing is appended any more, and it is
// read from still.
func (l *Log) Keep(h History) {
	l.write.Lock()
	defer l.write.Unlock()
	_, next := h.Bounds()
	l.adopt(h, next)
	l.save()
}

// adopt numbers what is in memory from next on.
func (l *Log) adopt(h History, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events {
		l.events[i].ID += next - l.first
	}
	l.next += next - l.first
	l.first, l.unsaved, l.history, l.older = next, next, h, h
	if l.byDefault {
		l.maxBytes = KeptMaxBytes
	}
}

// Unsaved tries again what could not be written to the history, and returns why
// it cannot, nil when nothing is left. Events that had to leave memory before
// that are lost: the history has a hole there that readers are told of.
func (l *Log) Unsaved() error {
	l.write.Lock()
	defer l.write.Unlock()
	l.save()
	return l.failed
}

// Sync returns when everything appended before outlives a power failure. Without
// a history it does nothing.
func (l *Log) Sync(ctx context.Context) error {
	if err := l.Unsaved(); err != nil {
		return err
	}
	l.mu.Lock()
	h := l.older
	l.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.Sync(ctx)
}

// keep writes the event that comes next, after what waits; it reports whether
// the history has all of it. l.write is held.
func (l *Log) keep(e Event) bool {
	if l.history == nil {
		return false
	}
	if l.unsaved < l.next && !l.save() {
		return false
	}
	l.failed = appendFit(l.history, e)
	return l.failed == nil
}

// save writes what the history does not have; l.write is held.
func (l *Log) save() bool {
	if l.history == nil {
		return true
	}
	from := max(l.unsaved, l.first)
	for l.failed = nil; from < l.next && l.failed == nil; {
		if l.failed = appendFit(l.history, l.events[from-l.first]); l.failed == nil {
			from++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsaved = from
	l.evict()
	return l.failed == nil
}

// appendFit appends an event, or a stub where the history can never take it: it
// must not be in the way of those that follow. A history that takes neither has
// a hole in its place.
func appendFit(h History, e Event) error {
	err := h.Append(e)
	if !errors.Is(err, ErrUnfit) {
		return err
	}
	e.Data, e.Redactions = unfit(e.Type, len(e.Data)), nil
	if err = h.Append(e); errors.Is(err, ErrUnfit) {
		return nil
	}
	return err
}

func unfit(kind Kind, size int) json.RawMessage {
	b, _ := json.Marshal(map[string]any{
		"type": "withheld", "kind": kind, "bytes": size,
		"message": "event withheld: its payload cannot be kept on disk",
	})
	return b
}

// afterOlder reads from the history, and goes on in memory where that ends. No
// lock is held while it reads.
func (l *Log) afterOlder(h History, from int64, max int) Page {
	p, err := h.Read(Window{From: &from, Max: max, MaxBytes: PageBytes})
	if err != nil {
		p = Page{Next: from}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again(err) {
		p.Truncated = true
		return p
	}
	l.unannounced(&p)
	switch {
	case p.Truncated, max > 0 && len(p.Events) >= max:
		p.Truncated = p.Next < l.next
		return p
	case p.Next < l.first && len(p.Events) > 0:
		p.Truncated = true // what follows is lost, or has just left memory
		return p
	case p.Next < l.first:
		p.Next = l.first
		p.ResetTo = new(int64)
		*p.ResetTo = l.first
	}
	l.take(&p, max, PageBytes-payload(p.Events))
	return p
}

// again reports whether a page that was not read can be tried again: what is
// there must not be told as lost. l.mu is held.
func (l *Log) again(err error) bool {
	switch {
	case err == nil:
		l.unread = time.Time{}
		return false
	case errors.Is(err, ErrNotStored):
		return false
	case l.unread.IsZero():
		l.unread = time.Now()
	}
	return time.Since(l.unread) < unreadFor
}

// unannounced takes away what is written and not yet numbered for readers: a
// cursor behind it would be ahead of the log.
func (l *Log) unannounced(p *Page) {
	for len(p.Events) > 0 && p.Events[len(p.Events)-1].ID >= l.next {
		p.Events = p.Events[:len(p.Events)-1]
	}
	p.Next = min(p.Next, l.next)
}

func payload(events []Event) (n int64) {
	for _, e := range events {
		n += int64(len(e.Data))
	}
	return n
}
