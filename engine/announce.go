package engine

import (
	"maps"
	"sync"
)

// Announcement is something that concerns every session, such as a change of the
// policies. Sessions show it as an event of kind notice.
type Announcement struct {
	Type    string         // data.type of the event
	Message string         // for people and clients, redacted like all events
	More    map[string]any // further fields of the event; may be nil

	// Standing: sessions that start later are told too, until the next
	// announcement of the same type.
	Standing bool
}

// standing holds the announcements for sessions to come.
type standing struct {
	mu     sync.Mutex
	byType map[string]Announcement // one for each type the program uses
}

// Announce tells all sessions that have not ended for good.
func (e *Engine) Announce(a Announcement) {
	a.More = maps.Clone(a.More)
	e.standing.mu.Lock()
	defer e.standing.mu.Unlock() // so that a session that starts now is told once
	if e.standing.byType == nil {
		e.standing.byType = make(map[string]Announcement)
	}
	delete(e.standing.byType, a.Type)
	if a.Standing {
		e.standing.byType[a.Type] = a
	}
	for _, s := range e.all() {
		if s.standing() != Cancelled {
			s.notice(a.Type, a.Message, a.More)
		}
	}
}

// join registers a session and tells it what stands.
func (e *Engine) join(s *Session) error {
	e.standing.mu.Lock()
	defer e.standing.mu.Unlock()
	if err := e.register(s); err != nil {
		return err
	}
	for _, a := range e.standing.byType {
		s.notice(a.Type, a.Message, a.More)
	}
	return nil
}
