package engine

import "time"

// fate is what the sweeper does to a session.
type fate uint8

const (
	keepOn     fate = iota
	overTurn        // a turn over its limit: cancel the session
	overIdle        // nobody asked for it in a long time: cancel and forget it
	coolDown        // its process has nothing to do: end the process only
	forgetGone      // cancelled long ago: forget it
)

// expire ends what has lasted too long.
func (s *Session) expire(now time.Time) {
	f, p := s.fate(now)
	o := s.engine.o
	switch f {
	case overTurn:
		s.notice("limit", "the turn, or turns of background work that nobody polled, ran longer than [limits] turn_timeout ("+o.TurnTimeout.String()+"); the session was cancelled", nil)
		s.cancel("turn ran longer than [limits] turn_timeout", "limit")
	case overIdle:
		s.cancel("idle longer than [limits] idle_ttl", "idle")
		s.engine.work.Go(func() { // ends when nothing of the session is left
			<-s.done // a process of it may still be ending, and its id must not be free before
			s.engine.forget(s)
		})
	case forgetGone:
		s.engine.forget(s)
	case coolDown:
		s.beside(func() { s.cool(p) }) // ends when the process is gone
	}
}

// fate looks at the clock only. Background work keeps a session, but no longer
// than a turn may last: a server somebody left running would keep it for ever.
func (s *Session) fate(now time.Time) (fate, *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, p := s.engine.o, s.proc
	background := p != nil && len(p.tasks) > 0 && now.Sub(p.idleSince) <= o.TurnTimeout
	idle := now.Sub(s.touched) > o.IdleTTL
	// Background work can begin turns and ask for ever; nobody knows of them.
	neglected := now.Sub(s.used) > o.IdleTTL+o.TurnTimeout
	switch {
	case s.state.Busy() && s.working.ticket != nil && s.working.inLine:
		return keepOn, p // it begins when its time does
	case s.state.Busy() && (neglected || now.Sub(s.turnStarted) > o.TurnTimeout):
		return overTurn, p
	case s.state.Busy():
		return keepOn, p
	case s.state == Cancelled && idle && p == nil:
		return forgetGone, p
	case s.state == Cancelled:
		return keepOn, p
	case neglected || idle && !background:
		return overIdle, p
	case p != nil && !p.inTurn && len(p.tasks) == 0 && s.persists() && !p.idleSince.IsZero() && now.Sub(p.idleSince) > o.WarmTTL:
		return coolDown, p
	}
	return keepOn, p
}

// cool ends a warm process unless a prompt came in between.
func (s *Session) cool(p *process) {
	if !s.launching.TryLock() {
		return
	}
	defer s.launching.Unlock()
	s.mu.Lock()
	still := s.proc == p && !p.inTurn && len(p.tasks) == 0 && !s.state.Busy()
	if still {
		p.stopping, p.cooled = true, true // a background turn may still begin; processEnded ends it
	}
	s.mu.Unlock()
	if still {
		p.stop()
	}
}
