package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/event/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t,
		func(*testing.T) event.Store { return &memory{kept: make(map[string]*kept)} },
		func(_ *testing.T, s event.Store) event.Store { return s.(*memory).crash() },
	)
}

// memory is the smallest store: it shows what the port asks for.
type memory struct {
	mu   sync.Mutex
	kept map[string]*kept
}

type kept struct {
	record event.SessionRecord
	events []event.Event
	next   int64
	writer *writer
}

type writer struct {
	store *memory
	id    string
}

func (m *memory) crash() *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := &memory{kept: make(map[string]*kept)}
	for id, k := range m.kept {
		after.kept[id] = &kept{record: k.record, events: slices.Clone(k.events), next: k.next}
	}
	return after
}

func (m *memory) Create(r event.SessionRecord) (event.History, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.kept[r.ID]; k != nil && k.writer != nil {
		return nil, event.ErrLocked
	} else if k != nil {
		return nil, event.ErrStored
	}
	w := &writer{m, r.ID}
	m.kept[r.ID] = &kept{record: r, writer: w}
	return w, nil
}

func (m *memory) Open(id string) (event.History, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kept[id]
	switch {
	case k == nil:
		return nil, event.ErrNotStored
	case k.writer != nil:
		return nil, event.ErrLocked
	}
	k.writer = &writer{m, id}
	return k.writer, nil
}

func (k *kept) told() event.SessionRecord {
	r := k.record
	r.Next, r.Live = k.next, k.writer != nil
	return r
}

func (m *memory) Session(id string) (event.SessionRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.kept[id]; k != nil {
		return k.told(), nil
	}
	return event.SessionRecord{}, event.ErrNotStored
}

func (m *memory) Sessions() (list []event.SessionRecord, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.kept {
		list = append(list, k.told())
	}
	slices.SortFunc(list, func(a, b event.SessionRecord) int { return b.Created.Compare(a.Created) })
	return list, nil
}

func (m *memory) Close() error { return nil }

func (m *memory) Read(id string, w event.Window) (p event.Page, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kept[id]
	if k == nil {
		return p, event.ErrNotStored
	}
	want, room := int64(0), w.MaxBytes
	if w.From != nil {
		want = *w.From
	}
	if room <= 0 {
		room = 1 << 20
	}
	reset := func(to int64) { p.Next, p.ResetTo = to, &to }
	if p.Next = min(max(want, 0), k.next); p.Next != want {
		reset(p.Next)
	}
	for _, e := range k.events {
		if e.ID < p.Next {
			continue
		}
		room -= int64(len(e.Data))
		switch n := len(p.Events); {
		case n == 0 && e.ID > p.Next:
			reset(e.ID)
		case n > 0 && (e.ID > p.Next || room < 0 || w.Max > 0 && n == w.Max):
			p.Truncated = true
			return p, nil
		}
		p.Events, p.Next = append(p.Events, e), e.ID+1
	}
	return p, nil
}

// change runs f for the writer w.
func (w *writer) change(f func(*kept) error) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if k := w.store.kept[w.id]; k.writer == w {
		return f(k)
	}
	return errors.New("closed")
}

func (w *writer) Append(e event.Event) error {
	return w.change(func(k *kept) error {
		if e.ID < k.next {
			return fmt.Errorf("id %d is taken", e.ID)
		}
		var data bytes.Buffer
		if json.Compact(&data, e.Data) != nil || data.Len() == 0 || data.Bytes()[0] != '{' {
			return event.ErrUnfit
		}
		e.Data = data.Bytes()
		k.events, k.next = append(k.events, e), e.ID+1
		return nil
	})
}

func (w *writer) Put(r event.SessionRecord) error {
	return w.change(func(k *kept) error {
		if r.ID != w.id {
			return event.ErrUnfit
		}
		k.record = r
		return nil
	})
}

func (w *writer) Sync(context.Context) error                   { return nil }
func (w *writer) Read(window event.Window) (event.Page, error) { return w.store.Read(w.id, window) }

func (w *writer) Bounds() (first, next int64) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return 0, w.store.kept[w.id].next
}

func (w *writer) Close() error {
	w.change(func(k *kept) error { k.writer = nil; return nil })
	return nil
}
