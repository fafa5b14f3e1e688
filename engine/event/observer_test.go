package event

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
)

// noting remembers what it was told.
type noting struct {
	mu    sync.Mutex
	ids   []int64
	of    []string // sessions
	ended []string
}

func (n *noting) Observe(o *Origin, e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids = append(n.ids, e.ID)
	if o != nil {
		n.of = append(n.of, o.SessionID)
	}
}

func (n *noting) Ended(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = append(n.ended, id)
}

func TestObserversAreToldInOrder(t *testing.T) {
	const writers, each = 8, 200
	l, n := NewLog(0), &noting{}
	l.SetOrigin(&Origin{SessionID: "s"})
	add := func(kind Kind) { l.Append(context.Background(), kind, json.RawMessage(`{}`)) }
	add(Notice) // before anybody observes
	l.Observe(n)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { // ends with its events
			for range each {
				add(Output)
				add(Partial)
			}
		})
	}
	all.Wait()
	if len(n.ids) != writers*each+1 || !slices.IsSorted(n.ids) || n.ids[0] != 0 || len(slices.Compact(slices.Clone(n.ids))) != len(n.ids) {
		t.Errorf("%d events were told, sorted %t, from %d", len(n.ids), slices.IsSorted(n.ids), n.ids[0])
	}
	if slices.ContainsFunc(n.of, func(id string) bool { return id != "s" }) || len(n.of) != len(n.ids) {
		t.Errorf("events of %d sessions", len(n.of))
	}
	l.EndObserving("s")
	add(Output)
	l.EndObserving("s")
	if len(n.ids) != writers*each+1 || !slices.Equal(n.ended, []string{"s"}) {
		t.Errorf("after the end: %d events, ends %v", len(n.ids), n.ended)
	}
}

func TestObserversSeeWhatWasRedacted(t *testing.T) {
	cover := redactFunc(func(json.RawMessage) (json.RawMessage, []Redaction, error) {
		return json.RawMessage(`{"t":"[x]"}`), nil, nil
	})
	l := NewLog(0, cover)
	var told []string
	l.Observe(observeFunc(func(e Event) {
		if next, _ := l.Next(); next != e.ID+1 {
			t.Errorf("event %d is told, and readers see the next as %d", e.ID, next)
		}
		told = append(told, string(e.Data))
	}))
	l.Append(context.Background(), Output, json.RawMessage(`{"t":"secret"}`))
	if !slices.Equal(told, []string{`{"t":"[x]"}`}) {
		t.Errorf("told %v", told)
	}
}

type observeFunc func(Event)

func (f observeFunc) Observe(_ *Origin, e Event) { f(e) }
func (observeFunc) Ended(string)                 {}
