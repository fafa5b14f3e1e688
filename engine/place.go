package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// place is the history of a session as its log uses it: open for writing, or only
// to be read, as of an earlier run and after Close. It is an [event.History].
type place struct {
	store event.Store
	id    string

	mu   sync.RWMutex
	open event.History // nil: to be read only
	next int64         // then: id the next event would have
}

// errGivenBack refuses writes of those who are not the writer any more.
var errGivenBack = errors.New("the session's history is not open for writing")

func (p *place) Append(e event.Event) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.open == nil {
		return errGivenBack
	}
	return p.open.Append(e)
}

func (p *place) Put(r event.SessionRecord) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.open == nil {
		return errGivenBack
	}
	return p.open.Put(r)
}

func (p *place) Sync(ctx context.Context) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.open == nil {
		return errGivenBack
	}
	return p.open.Sync(ctx)
}

func (p *place) Read(w event.Window) (event.Page, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.open == nil {
		return p.store.Read(p.id, w)
	}
	return p.open.Read(w)
}

func (p *place) Bounds() (first, next int64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.open == nil {
		return 0, p.next
	}
	return p.open.Bounds()
}

// Close gives the session back; what is there can still be read.
func (p *place) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return nil
	}
	h := p.open
	_, p.next = h.Bounds()
	p.open = nil
	return h.Close()
}
