package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func testEventFields(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	e := event.Event{
		Type: event.ToolResult, Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC),
		Data:       json.RawMessage(`{"data":{"id":7,"type":"x"},"z":1e3,"a":"\u0041"}`),
		Redactions: []event.Redaction{{Pointer: "/a~1b/\"0\"", Detector: "jwt", Count: 2}, {Detector: "other", Count: 1}},
	}
	noError(t, h.Append(e))
	noError(t, h.Close())
	p, err := s.Read(ID(1), event.Window{})
	if err != nil || !reflect.DeepEqual(p.Events, []event.Event{e}) {
		t.Errorf("events are %+v, %v\nwant %+v", p.Events, err, e)
	}
}

func testEventContents(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	contents := []string{
		`{}`,
		`{"text":"\n\u2028\u0000\"}{"}`,
		"{\"text\":\"\u2028 \xff\"}", // not all CLIs write UTF-8
		`{"deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		`{"long":"` + strings.Repeat("x", 300<<10) + `"}`,
		`{"longer":"` + strings.Repeat("é", 9<<20) + `"}`,
		`{"last":1}`,
	}
	for i, c := range contents {
		noError(t, h.Append(event.Event{ID: int64(i), Type: "a \"kind\" of its own", Timestamp: time.Now(), Data: json.RawMessage(c)}))
	}
	noError(t, h.Append(event.Event{ID: int64(len(contents)), Data: json.RawMessage("{\n\t\"lines\": 2\r\n}")}))
	contents = append(contents, `{"lines":2}`)
	for i, want := range contents {
		p, err := s.Read(ID(1), event.Window{From: at(int64(i)), Max: 1})
		if err != nil || len(p.Events) != 1 || p.ResetTo != nil {
			t.Errorf("event %d: %+v, %v", i, p, err)
			continue
		}
		got := string(p.Events[0].Data)
		if i == len(contents)-1 { // a store may lay it out anew
			got = strings.Join(strings.Fields(got), "")
		}
		if got != want {
			t.Errorf("event %d has %d bytes, want %d: %.80s", i, len(got), len(want), got)
		}
	}
}

func testAppendTaken(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	write(t, h, 0, 3)
	for _, id := range []int64{-1, 0, 2} {
		if h.Append(numbered(id)) == nil {
			t.Errorf("id %d was taken twice", id)
		}
	}
	bounds(t, h, 0, 3)
	write(t, h, 3, 4)
	p, err := h.Read(event.Window{})
	holds(t, p, err, 0, 4, nil, false)
}

func testAppendUnfit(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	for _, data := range []string{``, `null`, `[1]`, `"text"`, `{`, "{\n]}"} {
		if err := h.Append(event.Event{Data: json.RawMessage(data)}); !errors.Is(err, event.ErrUnfit) {
			t.Errorf("data %q: %v", data, err)
		}
	}
	bounds(t, h, 0, 0)
	write(t, h, 0, 1) // the id is free still
	p, err := h.Read(event.Window{})
	holds(t, p, err, 0, 1, nil, false)
}

// testWindows reads ten events of seven bytes.
func testWindows(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	write(t, h, 0, 10)
	cases := []struct {
		name      string
		window    event.Window
		from, to  int64
		reset     *int64
		truncated bool
	}{
		{"all", event.Window{}, 0, 10, nil, false},
		{"from a cursor", event.Window{From: at(4)}, 4, 10, nil, false},
		{"at most", event.Window{From: at(4), Max: 3}, 4, 7, nil, true},
		{"exactly as many as are left", event.Window{From: at(7), Max: 3}, 7, 10, nil, false},
		{"more than are left", event.Window{From: at(7), Max: 30}, 7, 10, nil, false},
		{"bytes", event.Window{From: at(2), MaxBytes: 21}, 2, 5, nil, true},
		{"bytes not of a whole event", event.Window{From: at(2), MaxBytes: 27}, 2, 5, nil, true},
		{"one event at least", event.Window{MaxBytes: 1}, 0, 1, nil, true},
		{"the last whatever its size", event.Window{From: at(9), MaxBytes: 1}, 9, 10, nil, false},
		{"bytes for all", event.Window{MaxBytes: 70}, 0, 10, nil, false},
		{"at the end", event.Window{From: at(10)}, 10, 10, nil, false},
		{"past the end is told", event.Window{From: at(99)}, 10, 10, at(10), false},
		{"below all is told", event.Window{From: at(-5)}, 0, 10, at(0), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := s.Read(ID(1), c.window)
			holds(t, p, err, c.from, c.to, c.reset, c.truncated)
			p, err = h.Read(c.window)
			holds(t, p, err, c.from, c.to, c.reset, c.truncated)
		})
	}
}

// testHoles leaves out the ids 2 and 3, then 6.
func testHoles(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	write(t, h, 0, 2)
	write(t, h, 4, 6)
	write(t, h, 7, 8)
	cases := []struct {
		name      string
		window    event.Window
		from, to  int64
		reset     *int64
		truncated bool
	}{
		{"the page before it ends", event.Window{}, 0, 2, nil, true},
		{"the page in it tells", event.Window{From: at(2)}, 4, 6, at(4), true},
		{"in its middle", event.Window{From: at(3), Max: 1}, 4, 5, at(4), true},
		{"behind it", event.Window{From: at(4)}, 4, 6, nil, true},
		{"the next", event.Window{From: at(6)}, 7, 8, at(7), false},
	}
	for _, again := range []string{"", " after it was opened again"} {
		for _, c := range cases {
			t.Run(c.name+again, func(t *testing.T) {
				p, err := h.Read(c.window)
				holds(t, p, err, c.from, c.to, c.reset, c.truncated)
			})
		}
		noError(t, h.Close())
		h = open(t, s, 1)
		bounds(t, h, 0, 8)
	}
}

func testDefaultBytes(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	big := json.RawMessage(`{"x":"` + strings.Repeat("x", 300<<10) + `"}`)
	for id := range int64(5) {
		noError(t, h.Append(event.Event{ID: id, Data: big}))
	}
	if p, err := h.Read(event.Window{}); err != nil || len(p.Events) != 3 || !p.Truncated {
		t.Errorf("%d events, truncated %v, %v", len(p.Events), p.Truncated, err)
	}
}

func testReadLive(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	for id := range int64(20) {
		write(t, h, id, id+1)
		for _, read := range []func(event.Window) (event.Page, error){
			h.Read, func(w event.Window) (event.Page, error) { return s.Read(ID(1), w) },
		} {
			p, err := read(event.Window{From: at(id)})
			holds(t, p, err, id, id+1, nil, false)
		}
	}
}

func testReadUnknown(t *testing.T, s event.Store) {
	for _, id := range []string{ID(1), "", ".", "..", "../x", "a/b", strings.Repeat("x", 5000)} {
		if _, err := s.Read(id, event.Window{}); !errors.Is(err, event.ErrNotStored) {
			t.Errorf("%.20q: %v", id, err)
		}
		if _, err := s.Session(id); !errors.Is(err, event.ErrNotStored) {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

func testSync(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	noError(t, h.Sync(t.Context()))
	write(t, h, 0, 3)
	noError(t, h.Sync(t.Context()))
	noError(t, h.Put(record(1)))
	noError(t, h.Sync(t.Context()))
	noError(t, h.Sync(t.Context()))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	write(t, h, 3, 4)
	if err := h.Sync(gone); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("when nobody waits any more: %v", err)
	}
	bounds(t, h, 0, 4)
}

func testClose(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	write(t, h, 0, 3)
	noError(t, h.Close())
	noError(t, h.Close())
	if h.Append(numbered(3)) == nil || h.Put(record(1)) == nil {
		t.Error("a history was written to after its close")
	}
	bounds(t, h, 0, 3)
	p, err := h.Read(event.Window{From: at(1)})
	holds(t, p, err, 1, 3, nil, false)
	second := open(t, s, 1)
	write(t, second, 3, 4)
	noError(t, h.Close()) // of the first: the second is not touched
	write(t, second, 4, 5)
	if _, err := s.Open(ID(1)); !errors.Is(err, event.ErrLocked) {
		t.Error(fmt.Errorf("the session was given back by somebody else: %w", err))
	}
}
