package event

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func id(n int64) *int64 { return &n }

func filled(n int, maxBytes int64) *Log {
	l := NewLog(maxBytes)
	for range n {
		l.Append(context.Background(), Output, json.RawMessage(`{"a":1}`))
	}
	return l
}

func TestAfter(t *testing.T) {
	const kept = 3 * (entryOverhead + 7)
	cases := []struct {
		name             string
		log              *Log
		cursor           *int64
		max              int
		first, next      int64
		count            int
		reset, truncated bool
	}{
		{"empty", NewLog(0), nil, 0, 0, 0, 0, false, false},
		{"all", filled(5, 0), nil, 0, 0, 5, 5, false, false},
		{"from cursor", filled(5, 0), id(3), 0, 3, 5, 2, false, false},
		{"page", filled(5, 0), id(1), 2, 1, 3, 2, false, true},
		{"exactly full page", filled(5, 0), id(3), 2, 3, 5, 2, false, false},
		{"at the end", filled(5, 0), id(5), 0, 5, 5, 0, false, false},
		{"past the end is told", filled(5, 0), id(99), 0, 5, 5, 0, true, false},
		{"evicted is told", filled(5, kept), id(0), 0, 2, 5, 3, true, false},
		{"evicted is told without a cursor", filled(5, kept), nil, 0, 2, 5, 3, true, false},
		{"lowest kept is no reset", filled(5, kept), id(2), 0, 2, 5, 3, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := c.log.After(c.cursor, c.max)
			if len(p.Events) != c.count || p.Next != c.next || p.Truncated != c.truncated || (p.ResetTo != nil) != c.reset {
				t.Fatalf("page = %+v", p)
			}
			if c.count > 0 && p.Events[0].ID != c.first {
				t.Errorf("first id = %d, want %d", p.Events[0].ID, c.first)
			}
		})
	}
}

func TestNewestEventStaysHoweverLarge(t *testing.T) {
	l := NewLog(10)
	l.Append(context.Background(), Output, json.RawMessage(`{}`))
	l.Append(context.Background(), Output, json.RawMessage(`"`+strings.Repeat("x", 1000)+`"`))
	if p := l.After(nil, 0); len(p.Events) != 1 || p.Events[0].ID != 1 {
		t.Fatalf("kept %+v, want only event 1", p.Events)
	}
}

type redactFunc func(json.RawMessage) (json.RawMessage, []Redaction, error)

func (f redactFunc) Redact(_ context.Context, p Payload) (json.RawMessage, []Redaction, error) {
	return f(p.Data)
}

func TestRedactorsRunInOrderAndFailClosed(t *testing.T) {
	cover := redactFunc(func(d json.RawMessage) (json.RawMessage, []Redaction, error) {
		return json.RawMessage(strings.ReplaceAll(string(d), "secret", "[x]")), []Redaction{{Detector: "d", Count: 1}}, nil
	})
	fails := redactFunc(func(json.RawMessage) (json.RawMessage, []Redaction, error) { return nil, nil, errors.New("no") })
	panics := redactFunc(func(json.RawMessage) (json.RawMessage, []Redaction, error) { panic("no") })
	breaks := redactFunc(func(json.RawMessage) (json.RawMessage, []Redaction, error) {
		return json.RawMessage(`{"t":"secret`), nil, nil
	})
	raw := json.RawMessage(`{"t":"secret"}`)
	if e := NewLog(0, cover).Append(context.Background(), Output, raw); string(e.Data) != `{"t":"[x]"}` || len(e.Redactions) != 1 {
		t.Errorf("covered event = %s %v", e.Data, e.Redactions)
	}
	for name, r := range map[string]Redactor{"error": fails, "panic": panics, "no JSON": breaks} {
		e := NewLog(0, r).Append(context.Background(), Output, raw)
		if strings.Contains(string(e.Data), "secret") || !strings.Contains(string(e.Data), "withheld") {
			t.Errorf("%s: event = %s, want a stub", name, e.Data)
		}
	}
}

func TestNextWakes(t *testing.T) {
	l := NewLog(0)
	n, changed := l.Next()
	go l.Append(context.Background(), Notice, json.RawMessage(`{}`)) // ends at once
	<-changed
	if after, _ := l.Next(); after != n+1 {
		t.Errorf("next = %d, want %d", after, n+1)
	}
}

// TestFullLogKeepsItsBound appends far beyond the bound.
func TestFullLogKeepsItsBound(t *testing.T) {
	const bound = 100 * (entryOverhead + 7)
	l := filled(10_000, bound)
	p := l.After(nil, 0)
	if len(p.Events) != 100 || p.Events[0].ID != 9900 || p.Next != 10_000 || l.bytes > bound {
		t.Errorf("%d events from %d, next %d, %d bytes", len(p.Events), p.Events[0].ID, p.Next, l.bytes)
	}
	if cap(l.events) > 1000 {
		t.Errorf("room for %d events is held for 100", cap(l.events))
	}
}

// BenchmarkAppendFull appends to a log that is full, where each append evicts.
func BenchmarkAppendFull(b *testing.B) {
	l := filled(100_000, 0)
	data := json.RawMessage(`{"a":1}`)
	for b.Loop() {
		l.Append(context.Background(), Output, data)
	}
}
