package journal

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// session returns the id of a test's nth session.
func session(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

func record(n int) event.SessionRecord {
	at := time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC)
	return event.SessionRecord{ID: session(n), State: "running", Created: at, Updated: at, Cwd: "/home/u/p", Engine: json.RawMessage(`{"a":1}`)}
}

func numbered(id int64) event.Event {
	return event.Event{ID: id, Type: event.Output, Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, id)), Timestamp: time.Now().UTC()}
}

func opened(t testing.TB, o Options) *Journal {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func begun(t testing.TB, j *Journal, n int) *history {
	t.Helper()
	h, err := j.Create(record(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h.(*history)
}

func wrote(t testing.TB, h event.History, from, to int64) {
	t.Helper()
	for id := from; id < to; id++ {
		if err := h.Append(numbered(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSmoke(t *testing.T) {
	j := opened(t, Options{SegmentBytes: 4 << 10})
	h := begun(t, j, 1)
	wrote(t, h, 0, 500)
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []event.Event
	from := int64(0)
	for {
		p, err := j.Read(h.id, event.Window{From: &from, Max: 37})
		if err != nil {
			t.Fatal(err)
		}
		if p.ResetTo != nil {
			t.Fatal(*p.ResetTo)
		}
		got = append(got, p.Events...)
		from = p.Next
		if !p.Truncated {
			break
		}
	}
	if len(got) != 500 || got[499].ID != 499 {
		t.Fatal(len(got))
	}
	h.Close()
	list, err := j.Sessions()
	if err != nil || len(list) != 1 || list[0].Next != 500 || list[0].Live {
		t.Fatalf("%+v %v", list, err)
	}
	h2, err := j.Open(h.id)
	if err != nil {
		t.Fatal(err)
	}
	defer h2.Close()
	wrote(t, h2, 500, 510)
	if p, err := h2.Read(event.Window{From: &from}); err != nil || len(p.Events) != 10 {
		t.Fatalf("%+v %v", p, err)
	}
}
