package engine

import (
	"reflect"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// tellOrigin tells the log what redaction policies may know of the session. It is
// called whenever some of it has changed; the origin itself never does, so that
// what policies said for one can be remembered. Model is the one asked for, as
// permission policies see it.
func (s *Session) tellOrigin() {
	s.origins.Lock() // what is told last was looked up last
	defer s.origins.Unlock()
	taint := s.history.tainted()
	s.mu.Lock()
	mode := s.mode
	s.mu.Unlock()
	o := &event.Origin{
		SessionID: s.id, Cwd: s.cwd, Mode: mode, Model: s.params.Model, Trusted: s.trusted, Taint: taint,
		Client: s.caller.Client, Transport: s.caller.Transport, Subject: s.caller.Subject, Groups: s.caller.Groups,
	}
	if !reflect.DeepEqual(o, s.told) {
		s.told = o
		s.log.SetOrigin(o)
	}
}

// passed notes the labels of a call that is let through.
func (s *Session) passed(labels map[string]string) {
	if s.history.passed(labels) {
		s.tellOrigin()
	}
}

// mark adds taints.
func (s *Session) mark(taints ...string) {
	if s.history.mark(taints...) {
		s.tellOrigin()
	}
}
