// Package storetest holds the tests that every [event.Store] has to pass. For tests
// only:
//
//	func TestStore(t *testing.T) { storetest.Run(t, open, crash) }
//
// Each case is named by the promise it tests; package event words them.
package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Open makes an empty store; what is left of it is removed when the test ends.
type Open func(t *testing.T) event.Store

// Crash returns a store as it is found after the process that used s ended at
// once: nothing of s was closed.
type Crash func(t *testing.T, s event.Store) event.Store

// Run runs all tests. A nil crash leaves out those of what survives one.
func Run(t *testing.T, open Open, crash Crash) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			defer func() { noError(t, s.Close()) }()
			c.run(t, s)
		})
	}
	t.Run("crash", func(t *testing.T) {
		if crash == nil {
			t.Skip("the store's test has no way to crash it")
		}
		for _, c := range crashes {
			t.Run(c.name, func(t *testing.T) { c.run(t, open(t), crash) })
		}
	})
}

var cases = []struct {
	name string
	run  func(t *testing.T, s event.Store)
}{
	{"create makes its caller the writer", testCreate},
	{"create refuses a session that is written or kept", testCreateTwice},
	{"open goes on where the history ends", testOpen},
	{"open refuses a session that is written or not kept", testOpenRefused},
	{"session tells the last record", testSession},
	{"sessions are listed newest first", testSessions},
	{"a record keeps every field", testRecordFields},
	{"put refuses another session's record", testPutOther},
	{"an event keeps every field", testEventFields},
	{"events of any size and content are kept", testEventContents},
	{"append refuses an id that is taken", testAppendTaken},
	{"append refuses what is no object, for good", testAppendUnfit},
	{"windows", testWindows},
	{"a hole ends a page and is told by the next", testHoles},
	{"a page holds a mebibyte by default", testDefaultBytes},
	{"readers see what was appended", testReadLive},
	{"read of a session that is not kept", testReadUnknown},
	{"sync returns, also when nothing was written", testSync},
	{"close gives the session back", testClose},
	{"histories outlive the store's close", testStoreClose},
	{"many writers and readers at once", testConcurrent},
}

// ID returns the id of a test's nth session.
func ID(n int) string { return fmt.Sprintf("5e550000-0000-4000-8000-%012x", n) }

func record(n int) event.SessionRecord {
	at := time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC)
	return event.SessionRecord{ID: ID(n), State: "running", Created: at, Updated: at, Cwd: "/home/u/project"}
}

func numbered(id int64) event.Event {
	return event.Event{
		ID: id, Type: event.Output, Timestamp: time.Date(2026, 1, 2, 3, 4, 5, int(id), time.UTC),
		Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, id)),
	}
}

func create(t *testing.T, s event.Store, n int) event.History {
	t.Helper()
	h, err := s.Create(record(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() }) // a second time, as a rule
	return h
}

func open(t *testing.T, s event.Store, n int) event.History {
	t.Helper()
	h, err := s.Open(ID(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// write appends events with the ids from, from+1, … to-1.
func write(t *testing.T, h event.History, from, to int64) {
	t.Helper()
	for id := from; id < to; id++ {
		if err := h.Append(numbered(id)); err != nil {
			t.Fatalf("event %d: %v", id, err)
		}
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func bounds(t *testing.T, h event.History, first, next int64) {
	t.Helper()
	if f, n := h.Bounds(); f != first || n != next {
		t.Errorf("bounds are %d, %d, want %d, %d", f, n, first, next)
	}
}

func at(id int64) *int64 { return &id }

// holds checks that a page has the events from, … to-1 and says what it should.
func holds(t *testing.T, p event.Page, err error, from, to int64, reset *int64, truncated bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if p.Next != to || p.Truncated != truncated || !reflect.DeepEqual(p.ResetTo, reset) {
		t.Errorf("page ends with %d, truncated %v, reset %s; want %d, %v, %s",
			p.Next, p.Truncated, text(p.ResetTo), to, truncated, text(reset))
	}
	if int64(len(p.Events)) != to-from {
		t.Fatalf("page has %d events, want %d", len(p.Events), to-from)
	}
	for i, e := range p.Events {
		if want := numbered(from + int64(i)); !reflect.DeepEqual(e, want) {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}
}

func text(id *int64) string {
	if id == nil {
		return "none"
	}
	return fmt.Sprint(*id)
}
