package event

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Bounds of what a Log keeps in memory, in bytes of payload.
const (
	DefaultMaxBytes = 4 << 20 // without a history
	KeptMaxBytes    = 1 << 20 // the default with one, from which older events are read
	UnsavedMaxBytes = 4 << 20 // at least, while the history cannot be written to
)

// entryOverhead is what an entry costs beside its payload, so that many empty
// events are bounded too.
const entryOverhead = 96

// Log is one session's history. It is safe for concurrent use.
//
// The oldest entries go first when the bytes exceed the bound; because entries
// leave only from the front, the lowest id in memory is also the lowest contiguous
// one. With a [History] an event is written to it before anybody sees it, and those
// that left memory are read from it.
type Log struct {
	redactors []Redactor
	byDefault bool // maxBytes is the default
	origin    atomic.Pointer[Origin]

	// write is held while an event gets its id and is written, so that the order is
	// the same everywhere; mu only while memory changes, so that a slow disk does not
	// hold up who reads from memory. write is locked first. What both are named for
	// is changed with both held, and read with either.
	write   sync.Mutex
	history History // write: nil, nothing is kept beyond memory
	unsaved int64   // write, mu: lowest id that the history does not have
	failed  error   // write: why, nil while it has all

	observers []Observer // write
	observed  int64      // write: observers that were told the end know of the events before this id

	mu       sync.Mutex
	events   []Event // write, mu: contiguous ids, events[0].ID == first
	first    int64   // write, mu
	next     int64   // write, mu
	bytes    int64
	maxBytes int64
	older    History       // history, for readers
	unread   time.Time     // since when it cannot be read, zero while it can
	changed  chan struct{} // made for who waits, closed at the next append; nil: nobody does
}

// NewLog makes a log; maxBytes <= 0 means DefaultMaxBytes, or KeptMaxBytes once
// it has a history. Redactors run in order, each seeing what the one before left.
func NewLog(maxBytes int64, redactors ...Redactor) *Log {
	l := &Log{redactors: redactors, maxBytes: maxBytes}
	if maxBytes <= 0 {
		l.maxBytes, l.byDefault = DefaultMaxBytes, true
	}
	return l
}

// SetOrigin says which session the events belong to; policies may ask for it.
func (l *Log) SetOrigin(o *Origin) { l.origin.Store(o) }

// Append redacts data, which must be valid JSON, numbers it and wakes readers. A
// redactor that errs, or gives back what is no JSON, replaces the payload by a
// stub, so nothing unredacted is ever kept.
func (l *Log) Append(ctx context.Context, kind Kind, data json.RawMessage) Event {
	return l.Add(ctx, Payload{Kind: kind, Data: data})
}

// Add is Append for a payload of which more is known; its origin and its sink
// are the log's own. before is what was covered in it already, see [Log.Stream].
func (l *Log) Add(ctx context.Context, p Payload, before ...Redaction) Event {
	p.Origin, p.Sink = l.origin.Load(), SinkEvent
	data, found, ok := Redact(ctx, l.redactors, p)
	if ok && len(before) > 0 {
		found = append(before[:len(before):len(before)], found...)
	}
	if rawjson.Deeper(data, MaxDepth) {
		data, found = deepStub(p.Kind, len(data)), nil
	}
	return l.enter(Event{Type: p.Kind, Data: data, Redactions: found})
}

// enter numbers an event, writes it, tells readers of it and then observers, in
// this order.
func (l *Log) enter(e Event) Event {
	l.write.Lock()
	defer l.write.Unlock()
	e.ID, e.Timestamp = l.next, time.Now().UTC()
	l.remember(e, l.keep(e))
	l.observe(e)
	return e
}

// remember adds an event to memory and wakes readers; l.write is held.
func (l *Log) remember(e Event, saved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	l.events = append(l.events, e)
	l.bytes += size(e)
	if saved {
		l.unsaved = l.next
	}
	l.evict()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Redact runs the redactors over what is not stored; ok is false when one
// failed, and the payload is then a stub. The origin is the log's own.
func (l *Log) Redact(ctx context.Context, p Payload) (data json.RawMessage, found []Redaction, ok bool) {
	p.Origin = l.origin.Load()
	return Redact(ctx, l.redactors, p)
}

func size(e Event) int64 { return int64(len(e.Data)) + entryOverhead }

// evict drops the oldest entries over the bound; the newest always stays. Those
// the history does not have stay for longer; when they go, too, they are lost,
// and the history tells it.
func (l *Log) evict() {
	n := 0
	for n < len(l.events)-1 && l.bytes > l.bound(l.first+int64(n)) {
		l.bytes -= size(l.events[n])
		n++
	}
	if n == 0 {
		return
	}
	// Only cut off: the next growth of the slice leaves the cleared entries
	// behind, so that a full log costs an append no more than an empty one.
	clear(l.events[:n])
	l.first += int64(n)
	l.events = l.events[n:]
}

func (l *Log) bound(id int64) int64 {
	if l.older != nil && id >= l.unsaved {
		return max(l.maxBytes, UnsavedMaxBytes)
	}
	return l.maxBytes
}

// After returns the events with id >= cursor, at most max (<= 0: all that fit). A
// nil cursor reads from the oldest event kept; when older ones are gone, ResetTo
// says so there too.
//
// A page that begins before what memory holds is read from the history and has at
// most PageBytes of payload, one event at least; Truncated then says that more
// are there. It has no hole: where events are lost it ends, and ResetTo of the
// page that begins there tells it.
func (l *Log) After(cursor *int64, max int) Page {
	l.mu.Lock()
	if l.older != nil && wanted(cursor) < l.first {
		h := l.older
		l.mu.Unlock()
		return l.afterOlder(h, wanted(cursor), max)
	}
	defer l.mu.Unlock()
	from, reset := l.start(cursor)
	p := Page{Next: from, ResetTo: reset}
	l.take(&p, max, math.MaxInt64)
	return p
}

func wanted(cursor *int64) int64 {
	if cursor == nil {
		return 0
	}
	return *cursor
}

// take adds events from memory to a page whose next id is there; l.mu is held.
func (l *Log) take(p *Page, max int, room int64) {
	rest := l.events[p.Next-l.first:]
	n := len(rest)
	if left := max - len(p.Events); max > 0 && n > left {
		n = left
	}
	if room < l.bytes { // else all of it fits
		n = fitting(rest[:n], room, len(p.Events) == 0)
	}
	p.Truncated = n < len(rest)
	p.Next += int64(n)
	p.Events = append(p.Events, rest[:n]...)
}

// fitting is how many of the events fit, at least one if one must.
func fitting(events []Event, room int64, one bool) int {
	for n, e := range events {
		if room -= int64(len(e.Data)); room < 0 && (n > 0 || !one) {
			return n
		}
	}
	return len(events)
}

// start clamps a cursor into what is kept and reports a jump.
func (l *Log) start(cursor *int64) (from int64, reset *int64) {
	want := wanted(cursor)
	from = min(max(want, l.first), l.next)
	if from != want {
		reset = &from
	}
	return from, reset
}

// Next returns the id the next event will have, and a channel that is closed at
// the next append.
func (l *Log) Next() (int64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.next, l.changed
}
