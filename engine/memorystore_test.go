package engine_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// memoryStore is an event.Store for tests of the engine alone. Engines that share
// one are servers on one folder. fail may refuse an operation.
type memoryStore struct {
	mu   sync.Mutex
	all  map[string]*memoryHistory
	fail func(op string) error // nil: nothing fails
}

type memoryHistory struct {
	store  *memoryStore
	record event.SessionRecord
	events []event.Event
	live   bool
	synced int // events at the last Sync
}

func newMemoryStore() *memoryStore { return &memoryStore{all: map[string]*memoryHistory{}} }

// failing makes operations fail from now on; none: everything works.
func (m *memoryStore) failing(ops ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = func(op string) error {
		if slices.Contains(ops, op) {
			return errors.New("no space left on device (" + op + ")")
		}
		return nil
	}
}

func (m *memoryStore) refused(op string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(op)
}

func (m *memoryStore) Create(r event.SessionRecord) (event.History, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refused("create"); err != nil {
		return nil, err
	}
	if m.all[r.ID] != nil {
		return nil, event.ErrStored
	}
	m.all[r.ID] = &memoryHistory{store: m, record: r, live: true}
	return &memoryWriter{h: m.all[r.ID]}, nil
}

func (m *memoryStore) Open(id string) (event.History, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.all[id]
	switch {
	case m.refused("open") != nil:
		return nil, m.refused("open")
	case h == nil:
		return nil, event.ErrNotStored
	case h.live:
		return nil, event.ErrLocked
	}
	h.live = true
	return &memoryWriter{h: h}, nil
}

func (m *memoryStore) Session(id string) (event.SessionRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.all[id]
	if h == nil {
		return event.SessionRecord{}, event.ErrNotStored
	}
	return h.told(), nil
}

func (h *memoryHistory) told() event.SessionRecord {
	r := h.record
	r.Next, r.Live = int64(len(h.events)), h.live
	return r
}

func (m *memoryStore) Sessions() ([]event.SessionRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []event.SessionRecord
	for _, h := range m.all {
		list = append(list, h.told())
	}
	slices.SortFunc(list, func(a, b event.SessionRecord) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

func (m *memoryStore) Read(id string, w event.Window) (event.Page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.all[id]
	if h == nil {
		return event.Page{}, event.ErrNotStored
	}
	return h.read(w), nil
}

func (h *memoryHistory) read(w event.Window) event.Page {
	from := int64(0)
	if w.From != nil {
		from = *w.From
	}
	p := event.Page{Next: min(max(from, 0), int64(len(h.events)))}
	if p.Next != from {
		p.ResetTo = &p.Next
	}
	size, most := int64(0), cmp.Or(max(w.MaxBytes, 0), 1<<20)
	for _, e := range h.events[p.Next:] {
		size += int64(len(e.Data))
		if len(p.Events) > 0 && (size > most || w.Max > 0 && len(p.Events) == w.Max) {
			p.Truncated = true
			break
		}
		p.Events = append(p.Events, e)
		p.Next = e.ID + 1
	}
	return p
}

func (m *memoryStore) Close() error { return nil }

// crash gives every session back as the death of its server does: the writers
// cannot write any more, and nothing is put in order.
func (m *memoryStore) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, h := range m.all {
		next := *h
		next.live = false
		m.all[id] = &next
		h.live = false
	}
}

// memoryWriter is the open history of a session.
type memoryWriter struct {
	h      *memoryHistory
	closed bool
}

var errNoWriter = errors.New("history is closed")

func (w *memoryWriter) do(op string, f func() error) error {
	m := w.h.store
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.closed || !w.h.live {
		return errNoWriter
	}
	if err := m.refused(op); err != nil {
		return err
	}
	return f()
}

func (w *memoryWriter) Append(e event.Event) error {
	return w.do("append", func() error {
		if e.ID != int64(len(w.h.events)) {
			return errors.New("an event is out of order")
		}
		w.h.events = append(w.h.events, e)
		return nil
	})
}

func (w *memoryWriter) Put(r event.SessionRecord) error {
	return w.do("put", func() error {
		w.h.record = r
		return nil
	})
}

func (w *memoryWriter) Sync(ctx context.Context) error {
	return w.do("sync", func() error {
		w.h.synced = len(w.h.events)
		return ctx.Err()
	})
}

func (w *memoryWriter) Read(win event.Window) (event.Page, error) {
	w.h.store.mu.Lock()
	defer w.h.store.mu.Unlock()
	if err := w.h.store.refused("read"); err != nil {
		return event.Page{}, err
	}
	return w.h.read(win), nil
}

func (w *memoryWriter) Bounds() (first, next int64) {
	w.h.store.mu.Lock()
	defer w.h.store.mu.Unlock()
	return 0, int64(len(w.h.events))
}

func (w *memoryWriter) Close() error {
	return w.do("close", func() error {
		w.h.live, w.closed = false, true
		return nil
	})
}

// failingAfter lets n writes of events and records pass and refuses those after.
func (m *memoryStore) failingAfter(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = func(op string) error {
		if op != "append" && op != "put" {
			return nil
		}
		if n--; n < 0 {
			return errors.New("no space left on device (" + op + ")")
		}
		return nil
	}
}

// recorded is settled, and the store knows too: the record is written a moment later.
func (h harness) recorded(s *engine.Session, m *memoryStore) engine.Info {
	h.t.Helper()
	info := h.settled(s)
	h.until(s, "record of the turn's end", func() bool {
		r, err := m.Session(s.ID())
		return err == nil && r.State == info.State.String() && r.Turns == info.TotalTurns
	})
	return info
}
