package engine

import (
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// cancelKept cancels a kept session for good: neither a reply nor a token revives it.
func (s *Session) cancelKept(reason, source string) error {
	e := s.engine
	e.closing.Lock() // two calls at once would lock each other out
	defer e.closing.Unlock()
	p, r, err := e.openKept(s.id)
	if err != nil {
		return storeRefusal(s.id, err)
	}
	defer p.Close()
	if r.Final {
		return Errorf(CancelledCode, "session was cancelled already")
	}
	k, err := readKept(r)
	if err != nil {
		return Errorf(Internal, "cancel session: %w", err)
	}
	if err := e.addRecordIfAny(s.id, resumeRecord{Cancelled: true}); err != nil {
		return Errorf(Internal, "cancel session %s: its resume record cannot be written: %w", s.id, err)
	}
	now := time.Now().UTC()
	k.Cancelled, k.Stopped = &keptCancel{s.redactText(event.SinkEvent, reason), source, now}, nil
	r.State, r.Final, r.Updated, r.Server = Cancelled.String(), true, now, e.o.Server
	if r.Engine, err = jsonOf(k); err == nil {
		err = p.Put(r)
	}
	if err == nil {
		err = s.tellCancel(p, r, k, k.Cancelled)
	}
	if err != nil {
		return unstored(err)
	}
	t, _ := s.auditTexts(recordTexts{Reason: k.Cancelled.Reason})
	e.noteKeptEnd(r, k, t.Reason, source)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.final, s.stopped = Cancelled, true, false
	s.cancelReason, s.cancelSource, s.cancelledTime = k.Cancelled.Reason, source, now
	return nil
}

// stopKept notes that a kept session is stopped; of one that is already, or that is
// cancelled for good, nothing is to be said.
func (s *Session) stopKept(params StopParams) error {
	e := s.engine
	e.closing.Lock() // as in cancelKept
	defer e.closing.Unlock()
	p, r, err := e.openKept(s.id)
	if err != nil {
		return storeRefusal(s.id, err)
	}
	defer p.Close()
	k, err := readKept(r)
	if err != nil {
		return Errorf(Internal, "stop session: %w", err)
	}
	if r.State == Cancelled.String() {
		return nil
	}
	now := time.Now().UTC()
	k.Stopped = &keptStop{keptCancel{s.redactText(event.SinkEvent, params.Reason), params.Source, now}, false}
	r.State, r.Updated, r.Server = Cancelled.String(), now, e.o.Server
	if r.Engine, err = jsonOf(k); err == nil {
		err = p.Put(r)
	}
	if err == nil {
		err = s.tellCancel(p, r, k, &k.Stopped.keptCancel)
	}
	if err != nil {
		return unstored(err)
	}
	t, _ := s.auditTexts(recordTexts{Reason: k.Stopped.Reason})
	e.noteKeptEnd(r, k, t.Reason, params.Source)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.stopped = Cancelled, true
	s.cancelReason, s.cancelSource, s.cancelledTime = k.Stopped.Reason, params.Source, now
	return nil
}

// tellCancel appends the cancel to a history that is open for writing.
func (s *Session) tellCancel(p *place, r event.SessionRecord, k keptState, c *keptCancel) error {
	raw, err := jsonOf(map[string]any{"type": "cancelled", "message": visible(c.Reason), "source": c.Source})
	if err != nil {
		return err
	}
	log := event.NewLog(0, s.engine.o.Redactors...)
	log.Keep(p)
	defer s.engine.observeKept(log, r, k)()
	log.Append(s.untilDone(), event.Notice, raw)
	if err := log.Unsaved(); err != nil {
		return err
	}
	return p.Sync(s.untilDone())
}

// addRecordIfAny is addRecord where sessions leave resume records.
func (e *Engine) addRecordIfAny(id string, r resumeRecord) error {
	if !e.recorded() {
		return nil
	}
	return e.addRecord(id, r)
}
