package engine

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// observed is one of Options.Observers as a session's log tells it. What panics is
// logged once for each session, and ends nothing.
type observed struct {
	to     event.Observer
	engine *Engine
	broken atomic.Bool // was logged
}

func (o *observed) Observe(origin *event.Origin, e event.Event) {
	defer o.recovered("session", origin)
	o.to.Observe(origin, e)
}

func (o *observed) Ended(sessionID string) {
	defer o.recovered("session", sessionID)
	o.to.Ended(sessionID)
}

func (o *observed) recovered(name string, of any) {
	p := recover()
	if p == nil || o.broken.Swap(true) {
		return
	}
	if origin, ok := of.(*event.Origin); ok && origin != nil {
		of = origin.SessionID
	}
	o.engine.log.Error("observer of events panicked", name, of, "panic", fmt.Sprint(p))
}

// observers are the options' as one log tells them.
func (e *Engine) observers() []event.Observer {
	all := make([]event.Observer, len(e.o.Observers))
	for i, o := range e.o.Observers {
		all[i] = &observed{to: o, engine: e}
	}
	return all
}

// observing is whether a session's observers are told.
type observing struct {
	mu    sync.Mutex
	ended bool
}

// observe tells observers of the session from now on. Its log has its place. One that
// was cancelled while it began has ended already, and nobody would tell of that again.
func (s *Session) observe() {
	e := s.engine
	if len(e.o.Observers) == 0 {
		return
	}
	s.observing.mu.Lock()
	defer s.observing.mu.Unlock()
	if s.observing.ended {
		return
	}
	e.mu.Lock()
	if e.watched == nil {
		e.watched = make(map[string]*event.Log)
	}
	before := e.watched[s.id]
	e.watched[s.id] = s.log
	e.mu.Unlock()
	if before != nil {
		before.EndObserving(s.id) // one of that id is still ending: its end comes before this beginning
	}
	s.log.Observe(e.observers()...)
}

// unobserve tells them of the end.
func (s *Session) unobserve() {
	s.observing.mu.Lock()
	defer s.observing.mu.Unlock()
	s.observing.ended = true
	s.log.EndObserving(s.id)
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	if s.engine.watched[s.id] == s.log {
		delete(s.engine.watched, s.id)
	}
}

// observeKept tells observers of what a log appends to a session of which nothing
// runs, until end is called.
func (e *Engine) observeKept(log *event.Log, r event.SessionRecord, k keptState) (end func()) {
	if len(e.o.Observers) == 0 {
		return func() {}
	}
	log.SetOrigin(&event.Origin{
		SessionID: r.ID, Cwd: r.Cwd, Mode: k.Mode, Model: k.Model, Trusted: insideAny(r.Cwd, e.o.Trusted), Taint: k.Taint,
		Client: k.Caller.Client, Transport: k.Caller.Transport, Subject: k.Caller.Subject, Groups: k.Caller.Groups,
	})
	log.Observe(e.observers()...)
	return func() { log.EndObserving(r.ID) }
}
