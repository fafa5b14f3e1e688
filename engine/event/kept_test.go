package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeHistory is a history in memory that can be told to fail.
type fakeHistory struct {
	mu       sync.Mutex
	events   []Event
	next     int64
	first    int64 // ids below are past retention
	full     bool
	unfit    string // events whose data holds it
	unread   bool
	syncs    int
	hold     chan struct{} // Append says that it begins, and waits to be let go on
	appended func(Event)
}

var errFull = errors.New("disk full")

func (h *fakeHistory) Append(e Event) error {
	if h.hold != nil {
		h.hold <- struct{}{}
		<-h.hold
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.full:
		return errFull
	case h.unfit != "" && strings.Contains(string(e.Data), h.unfit):
		return ErrUnfit
	case e.ID < h.next:
		return fmt.Errorf("id %d is taken", e.ID)
	}
	h.events, h.next = append(h.events, e), e.ID+1
	if h.appended != nil {
		h.appended(e)
	}
	return nil
}

func (h *fakeHistory) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *fakeHistory) Put(SessionRecord) error { return nil }
func (h *fakeHistory) Close() error            { return nil }

func (h *fakeHistory) Sync(context.Context) error {
	h.set(func() { h.syncs++ })
	return nil
}

func (h *fakeHistory) Bounds() (first, next int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first, h.next
}

func (h *fakeHistory) Read(w Window) (p Page, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unread {
		return p, errors.New("unreadable")
	}
	p.Next = min(max(*w.From, h.first), h.next)
	if p.Next != *w.From {
		p.ResetTo = id(p.Next)
	}
	room := w.MaxBytes
	for _, e := range h.events {
		room -= int64(len(e.Data))
		switch n := len(p.Events); {
		case e.ID < p.Next:
			room += int64(len(e.Data))
			continue
		case n == 0 && e.ID > p.Next:
			p.ResetTo = id(e.ID)
		case n > 0 && (e.ID > p.Next || room < 0 || w.Max > 0 && n == w.Max):
			p.Truncated = true
			return p, nil
		}
		p.Events, p.Next = append(p.Events, e), e.ID+1
	}
	return p, nil
}

func add(l *Log, n int) {
	for range n {
		l.Append(context.Background(), Output, json.RawMessage(`{"a":1}`))
	}
}

// few is a bound for three events in memory.
const few = 3 * (entryOverhead + 7)

// ids reads a log from a cursor, page by page: "0-4 !7 7-9" with each jump told.
func ids(t *testing.T, l *Log, from int64, most int) string {
	t.Helper()
	var told []string
	for range 1000 {
		p := l.After(&from, most)
		if p.ResetTo != nil {
			told = append(told, fmt.Sprintf("!%d", *p.ResetTo))
			from = *p.ResetTo
		}
		if len(p.Events) > 0 {
			told = append(told, fmt.Sprintf("%d-%d", from, p.Next-1))
		}
		for i, e := range p.Events {
			if e.ID != from+int64(i) {
				t.Fatalf("from %d: event %d has id %d", from, i, e.ID)
			}
		}
		if from = p.Next; !p.Truncated {
			if next, _ := l.Next(); next != p.Next {
				t.Fatalf("the last page ends with %d of %d", p.Next, next)
			}
			return strings.Join(told, " ")
		}
	}
	t.Fatal("no end")
	return ""
}

func TestOlderEventsAreReadFromTheHistory(t *testing.T) {
	h := &fakeHistory{}
	l := NewLog(few)
	l.Keep(h)
	add(l, 10) // 7, 8 and 9 are in memory
	cases := []struct {
		name string
		from int64
		most int
		want string
	}{
		{"all in one page", 0, 0, "0-9"},
		{"pages over the border", 0, 4, "0-3 4-7 8-9"},
		{"a page up to the border", 5, 2, "5-6 7-8 9-9"},
		{"memory only", 7, 0, "7-9"},
		{"the end", 10, 0, ""},
		{"past the end is told", 99, 0, "!10"},
		{"before the beginning is told", -3, 0, "!0 0-9"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := ids(t, l, c.from, c.most); got != c.want {
				t.Errorf("read %q, want %q", got, c.want)
			}
		})
	}
	t.Run("without a cursor", func(t *testing.T) {
		if p := l.After(nil, 0); len(p.Events) != 10 || p.ResetTo != nil || p.Truncated {
			t.Errorf("page %+v", p)
		}
	})
	t.Run("past retention is told", func(t *testing.T) {
		h.set(func() { h.first, h.events = 4, h.events[4:] })
		if got := ids(t, l, 1, 0); got != "!4 4-9" {
			t.Errorf("read %q", got)
		}
	})
}

// TestUnreadableHistory has one that cannot be read for a while: what is there is
// not told as lost, until it has been so for too long.
func TestUnreadableHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHistory{}
		l := NewLog(few)
		l.Keep(h)
		add(l, 10)
		for range 3 {
			h.set(func() { h.unread = true })
			if p := l.After(id(5), 0); len(p.Events) != 0 || p.Next != 5 || p.ResetTo != nil || !p.Truncated {
				t.Errorf("unreadable: %+v", p)
			}
			time.Sleep(unreadFor - time.Second)
			h.set(func() { h.unread = false })
			if got := ids(t, l, 5, 0); got != "5-9" {
				t.Errorf("readable again: %q", got)
			}
		}
		h.set(func() { h.unread = true })
		l.After(id(5), 0)
		time.Sleep(unreadFor)
		if got := ids(t, l, 5, 0); got != "!7 7-9" {
			t.Errorf("unreadable for too long: %q", got)
		}
	})
}

func TestPageBytes(t *testing.T) {
	l := NewLog(1)
	l.Keep(&fakeHistory{})
	for range 5 {
		l.Append(context.Background(), Output, json.RawMessage(`{"x":"`+strings.Repeat("x", PageBytes/3)+`"}`))
	}
	if got := ids(t, l, 0, 0); got != "0-1 2-3 4-4" {
		t.Errorf("read %q", got)
	}
}

func TestKeepGoesOnWhereTheHistoryEnds(t *testing.T) {
	h := &fakeHistory{}
	before := NewLog(0)
	before.Keep(h)
	add(before, 5)
	l := NewLog(0)
	add(l, 2) // before it has a history
	l.Keep(h)
	add(l, 3)
	if got := ids(t, l, 0, 0); got != "0-9" || len(h.events) != 10 {
		t.Errorf("read %q, %d are kept", got, len(h.events))
	}
	if l.maxBytes != KeptMaxBytes {
		t.Errorf("bound of %d bytes", l.maxBytes)
	}
}

func TestFullHistory(t *testing.T) {
	h := &fakeHistory{}
	l := NewLog(few)
	l.Keep(h)
	add(l, 4)
	h.set(func() { h.full = true })
	add(l, 6) // 4 to 9 are in memory only, more than its bound
	if err := l.Unsaved(); !errors.Is(err, errFull) {
		t.Errorf("unsaved: %v", err)
	}
	if err := l.Sync(t.Context()); !errors.Is(err, errFull) || h.syncs != 0 {
		t.Errorf("sync: %v, %d of the history", err, h.syncs)
	}
	if got := ids(t, l, 0, 0); got != "0-9" {
		t.Errorf("while it is full: read %q", got)
	}
	h.set(func() { h.full = false })
	if err := l.Unsaved(); err != nil || len(h.events) != 10 || len(l.events) != 3 {
		t.Errorf("with room: %v, %d are kept, %d in memory", err, len(h.events), len(l.events))
	}
	if err := l.Sync(t.Context()); err != nil || h.syncs != 1 {
		t.Errorf("sync: %v, %d of the history", err, h.syncs)
	}
	add(l, 2)
	if got := ids(t, l, 0, 3); got != "0-2 3-5 6-8 9-11" {
		t.Errorf("with room: read %q", got)
	}
}

// TestAppendSavesWhatWaits needs no Unsaved.
func TestAppendSavesWhatWaits(t *testing.T) {
	h := &fakeHistory{full: true}
	l := NewLog(0)
	l.Keep(h)
	add(l, 3)
	h.set(func() { h.full = false })
	add(l, 1)
	if len(h.events) != 4 || l.failed != nil {
		t.Errorf("%d are kept, %v", len(h.events), l.failed)
	}
}

// TestLostIsTold fills memory while the history takes nothing.
func TestLostIsTold(t *testing.T) {
	h := &fakeHistory{}
	l := NewLog(few)
	l.Keep(h)
	add(l, 4)
	h.set(func() { h.full = true })
	big := json.RawMessage(`{"x":"` + strings.Repeat("x", UnsavedMaxBytes/4) + `"}`)
	for range 6 { // the last three stay
		l.Append(context.Background(), Output, big)
	}
	const want = "0-3 !7 7-7 8-9" // in pages of PageBytes
	if got := ids(t, l, 0, 0); got != want {
		t.Errorf("while it is full: read %q, want %q", got, want)
	}
	h.set(func() { h.full = false })
	if err := l.Unsaved(); err != nil {
		t.Fatal(err)
	}
	add(l, 5) // pages of the history hold one of the large ones
	if got := ids(t, l, 0, 0); !strings.HasPrefix(got, "0-3 !7 7-7") || !strings.HasSuffix(got, "-14") {
		t.Errorf("with room: read %q", got)
	}
}

// TestUnfitIsReplaced keeps the way free for what follows.
func TestUnfitIsReplaced(t *testing.T) {
	h := &fakeHistory{unfit: "bad"}
	l := NewLog(1)
	l.Keep(h)
	l.Append(context.Background(), Output, json.RawMessage(`{"a":"bad"}`))
	add(l, 2)
	if err := l.Unsaved(); err != nil || len(h.events) != 3 {
		t.Fatalf("%v, %d are kept", err, len(h.events))
	}
	if p := l.After(nil, 1); !strings.Contains(string(p.Events[0].Data), "withheld") {
		t.Errorf("in its place: %s", p.Events[0].Data)
	}
	h.set(func() { h.unfit = "withheld" })
	l.Append(context.Background(), Output, json.RawMessage(`{"a":"withheld"}`))
	add(l, 2)
	if got := ids(t, l, 0, 0); l.Unsaved() != nil || got != "0-2 !4 4-5" {
		t.Errorf("read %q, %v", got, l.Unsaved())
	}
}

// TestSlowDiskHoldsNoReader reads from memory while an event is being written.
func TestSlowDiskHoldsNoReader(t *testing.T) {
	h := &fakeHistory{}
	l := NewLog(0)
	l.Keep(h)
	add(l, 3)
	h.hold = make(chan struct{})
	done := make(chan struct{})
	go func() { add(l, 1); close(done) }() // ends when it is let go on
	<-h.hold
	for range 100 {
		if p := l.After(nil, 0); len(p.Events) != 3 {
			t.Fatalf("page %+v", p)
		}
	}
	h.hold <- struct{}{}
	<-done
}

// TestNobodySeesWhatIsNotWritten reads in the very moment an event is written.
func TestNobodySeesWhatIsNotWritten(t *testing.T) {
	h := &fakeHistory{}
	l := NewLog(few)
	l.Keep(h)
	add(l, 20)
	var read Page
	h.appended = func(e Event) {
		h.mu.Unlock()
		read = l.After(id(0), 0)
		h.mu.Lock()
	}
	add(l, 1)
	if read.Next != 20 || len(read.Events) != 20 || read.ResetTo != nil {
		t.Errorf("next %d, %d events, reset %v", read.Next, len(read.Events), read.ResetTo)
	}
}

// TestReadersOfALiveLog follow it from its beginning while it grows.
func TestReadersOfALiveLog(t *testing.T) {
	const events = 2000
	l := NewLog(few)
	l.Keep(&fakeHistory{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { // until it has read all
			for from := int64(0); from < events; {
				_, changed := l.Next()
				p := l.After(&from, 50)
				for i, e := range p.Events {
					if e.ID != from+int64(i) {
						t.Errorf("from %d: event %d has id %d", from, i, e.ID)
						return
					}
				}
				if p.ResetTo != nil {
					t.Errorf("from %d: reset to %d", from, *p.ResetTo)
					return
				}
				if from = p.Next; len(p.Events) == 0 {
					<-changed
				}
			}
		})
	}
	add(l, events)
	all.Wait()
}

func TestWithoutHistory(t *testing.T) {
	l := NewLog(0)
	add(l, 1)
	if err := errors.Join(l.Unsaved(), l.Sync(t.Context())); err != nil || l.maxBytes != DefaultMaxBytes {
		t.Errorf("%v, bound %d", err, l.maxBytes)
	}
}
