package event

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// DefaultMaxBytes bounds the payload bytes a Log keeps in memory.
const DefaultMaxBytes = 4 << 20

// entryOverhead is what an entry costs beside its payload, so that many empty
// events are bounded too.
const entryOverhead = 96

// Log is one session's history. It is safe for concurrent use.
//
// The oldest entries go first when the bytes exceed the bound; because entries
// leave only from the front, the lowest id kept is also the lowest contiguous one.
type Log struct {
	redactors []Redactor
	maxBytes  int64
	origin    atomic.Pointer[Origin]

	mu      sync.Mutex
	events  []Event // contiguous ids, events[0].ID == first
	first   int64
	next    int64
	bytes   int64
	changed chan struct{} // made for who waits, closed at the next append; nil: nobody does
	history History       // nil: nothing is kept beyond memory
	unsaved int64         // lowest id that the history does not have
	failed  error         // of the last write to the history, nil since one worked
}

// Keep makes h the log's history: what is appended from now on is written to it,
// and ids go on where it ends. Events that were appended before are written first.
func (l *Log) Keep(h History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, next := h.Bounds()
	for i := range l.events {
		l.events[i].ID += next - l.first
	}
	l.next += next - l.first
	l.first, l.unsaved, l.history = next, next, h
	l.save()
}

// Unsaved returns why events could not be written to the history, nil while all
// of them are.
func (l *Log) Unsaved() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.save()
	return l.failed
}

// save writes what the history does not have yet.
func (l *Log) save() {
	if l.history == nil {
		return
	}
	l.unsaved = max(l.unsaved, l.first)
	for l.unsaved < l.next {
		if l.failed = l.history.Append(l.events[l.unsaved-l.first]); l.failed != nil {
			return
		}
		l.unsaved++
	}
}

// NewLog makes a log; maxBytes <= 0 means DefaultMaxBytes. Redactors run in
// order, each seeing what the one before left.
func NewLog(maxBytes int64, redactors ...Redactor) *Log {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	return &Log{redactors: redactors, maxBytes: maxBytes}
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
	l.mu.Lock()
	defer l.mu.Unlock()
	e := Event{ID: l.next, Type: p.Kind, Data: data, Timestamp: time.Now().UTC(), Redactions: found}
	l.next++
	l.events = append(l.events, e)
	l.bytes += size(e)
	l.save() // before anybody is told
	l.evict()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return e
}

// Redact runs the redactors over what is not stored; ok is false when one
// failed, and the payload is then a stub. The origin is the log's own.
func (l *Log) Redact(ctx context.Context, p Payload) (data json.RawMessage, found []Redaction, ok bool) {
	p.Origin = l.origin.Load()
	return Redact(ctx, l.redactors, p)
}

func size(e Event) int64 { return int64(len(e.Data)) + entryOverhead }

// evict drops the oldest entries over the bound; the newest always stays.
func (l *Log) evict() {
	n := 0
	for l.bytes > l.maxBytes && n < len(l.events)-1 {
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

// After returns the events with id >= cursor, at most max (<= 0: all). A nil
// cursor reads from the oldest event kept; when older ones are gone, ResetTo
// says so there too.
func (l *Log) After(cursor *int64, max int) Page {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, reset := l.start(cursor)
	rest := l.events[from-l.first:]
	p := Page{Next: from + int64(len(rest)), ResetTo: reset}
	if max > 0 && len(rest) > max {
		rest, p.Truncated = rest[:max], true
		p.Next = from + int64(max)
	}
	p.Events = append([]Event(nil), rest...)
	return p
}

// start clamps a cursor into what is kept and reports a jump.
func (l *Log) start(cursor *int64) (from int64, reset *int64) {
	want := int64(0)
	if cursor != nil {
		want = *cursor
	}
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
