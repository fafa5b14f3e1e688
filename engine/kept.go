package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// A kept session is one of an earlier run, or one the engine forgot: its record
// and its events are in the store, and nothing of it runs. It is a Session that can
// be read and cancelled; a prompt goes to Engine.Resume.

// maxKept bounds the kept sessions that are listed, the newest first: the list is
// read by models, who pay for it. Find finds the others too.
const maxKept = 100

// Find returns a session of this run as Session does, or one that is only kept: its
// folder has to lie inside the roots, and no other server may be at work on it. A
// kept session is shown as it was when it was found. Policies are not asked: what is
// shown of it to others is a decision, see Inspect. The code is SESSION_NOT_FOUND.
func (e *Engine) Find(id string) (*Session, error) {
	s, err := e.Session(id)
	if err == nil || e.o.Store == nil || !uuidForm.MatchString(id) {
		return s, err
	}
	r, storeErr := e.o.Store.Session(id)
	switch {
	case storeErr == nil && r.Live:
		return nil, Errorf(SessionNotFound, "session %q is at work in another gatehouse server; continue it there, or fork it", id)
	case storeErr == nil:
		s = e.keptSession(r)
	case !errors.Is(storeErr, event.ErrNotStored):
		e.log.Warn("kept session", "session", id, "error", storeErr)
	}
	if s == nil {
		return nil, err
	}
	s.readResult()
	return s, nil
}

// isKept says whether the store has a session that may be shown here.
func (e *Engine) isKept(id string) bool {
	if e.o.Store == nil || !uuidForm.MatchString(id) {
		return false
	}
	r, err := e.o.Store.Session(id)
	return err == nil && !r.Live && insideAny(r.Cwd, e.o.Roots)
}

// kept lists the sessions that are only kept, the newest first.
func (e *Engine) kept() []*Session {
	var list []*Session
	for _, r := range e.keptRecords() {
		if s := e.keptSession(r); s != nil {
			list = append(list, s)
		}
		if len(list) == maxKept {
			break
		}
	}
	return list
}

// keptRecords are the records of sessions that no server is at work on.
func (e *Engine) keptRecords() []event.SessionRecord {
	if e.o.Store == nil {
		return nil
	}
	records, err := e.o.Store.Sessions()
	if err != nil {
		e.log.Warn("list kept sessions", "error", err)
	}
	return slices.DeleteFunc(records, func(r event.SessionRecord) bool {
		return r.Live || e.live(r.ID) || !insideAny(r.Cwd, e.o.Roots)
	})
}

// closeAll closes the books of what a crash left behind, so that other readers of
// the store find them closed too.
func (e *Engine) closeAll() {
	for _, r := range e.keptRecords() {
		if e.ctx.Err() != nil {
			return
		}
		if k, err := readKept(r); err == nil && unclosed(r, k) {
			_ = e.keptSession(r) // looking at it is all it takes; errors are logged
		}
	}
}

// keptSession shows a record; nil for one that is none of ours to show.
func (e *Engine) keptSession(r event.SessionRecord) *Session {
	k, err := readKept(r)
	if err != nil {
		e.log.Warn("kept session", "error", err)
		return nil
	}
	if k.Abandoned || !insideAny(r.Cwd, e.o.Roots) {
		return nil
	}
	log := event.NewLog(e.o.MaxEventBytes, e.o.Redactors...)
	if !unclosed(r, k) {
		log.Keep(&place{store: e.o.Store, id: r.ID, next: r.Next})
		return e.shownKept(r, k, log)
	}
	closed, err := e.closeKept(r.ID)
	switch {
	case err == nil:
		r = closed
		log.Keep(&place{store: e.o.Store, id: r.ID, next: r.Next})
	case errors.Is(err, event.ErrLocked) || errors.Is(err, event.ErrNotStored):
		return nil // somebody took it up, or removed it, at this moment
	default:
		e.log.Warn("kept session", "error", err)
		if r, err = e.tellUnclosed(r.ID, log); err != nil {
			return nil
		}
	}
	if k, err = readKept(r); err != nil {
		return nil
	}
	return e.shownKept(r, k, log)
}

// tellUnclosed shows what closeKept would write to a store that cannot be written to.
func (e *Engine) tellUnclosed(id string, log *event.Log) (event.SessionRecord, error) {
	r, err := e.o.Store.Session(id)
	if err != nil {
		return r, err
	}
	k, err := readKept(r)
	if err != nil {
		return r, err
	}
	p := &place{store: e.o.Store, id: id, next: r.Next}
	log.Keep(p)
	r, _, err = e.tellEnd(log, p, r, k)
	return r, err
}

// closeKept closes the books of a session and gives it back.
func (e *Engine) closeKept(id string) (event.SessionRecord, error) {
	e.closing.Lock() // two readers at once would lock each other out
	defer e.closing.Unlock()
	p, r, err := e.openKept(id)
	if err != nil {
		return r, err
	}
	_, r.Next = p.Bounds()
	return r, p.Close()
}

// shownKept makes the session that readers get.
func (e *Engine) shownKept(r event.SessionRecord, k keptState, log *event.Log) *Session {
	s := &Session{
		engine: e, keptOnly: true, kept: &k, id: r.ID, parent: r.Parent, created: r.Created, caller: k.Caller, prompt: k.Prompt,
		cwd: r.Cwd, trusted: insideAny(r.Cwd, e.o.Trusted), log: log, approvals: permission.NewApprovals(0),
		ctx: e.ctx, end: func(error) {}, done: closedChannel, changed: make(chan struct{}),
		state: stateNamed(r.State), touched: r.Updated, used: r.Updated, mode: cmp.Or(k.Mode, modeDefault), started: k.Started,
		final: r.Final, resultID: k.Result, busyFrom: k.BusyFrom, prompts: k.Prompts, lastOutput: k.Words,
	}
	if json.Unmarshal(k.Params, &s.shown) != nil {
		s.shown = StartParams{}
	}
	s.kept.Exact = k.Exact && readable(k.Params)
	s.params, s.dirs = s.shown, s.shown.AdditionalDirs
	s.beyond = stricter(modeBeyond(modeAsked(s.shown)), modeBeyond(s.mode))
	if k.Narrowed != "" {
		s.beyond = stricter(s.beyond, k.Narrowed)
	}
	s.keeping.params, s.keeping.title = k.Params, r.Title
	s.info = Info{
		TotalTurns: r.Turns, TotalCostUSD: r.CostUSD, LastToolUseID: k.ToolUse, Tools: k.Tools,
		CLIVersion: k.Version, Model: k.Model, Warnings: k.Warnings,
	}
	if k.Cancelled != nil {
		s.cancelReason, s.cancelSource, s.cancelledTime = k.Cancelled.Reason, k.Cancelled.Source, k.Cancelled.Time
	}
	if k.Stopped != nil && !r.Final {
		s.stopped, s.cancelReason, s.cancelSource, s.cancelledTime = true, k.Stopped.Reason, k.Stopped.Source, k.Stopped.Time
	}
	s.mark(k.Taint...)
	return s
}

// readable reports whether kept options can be gone on with: one that is not understood
// here, as another version may have written it, may be one that narrows.
func readable(params json.RawMessage) bool {
	var p StartParams
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	return d.Decode(&p) == nil && validateMode(p.PermissionMode) == nil
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// stateNamed is the state of a kept session, in which no turn is under way.
func stateNamed(name string) State {
	switch name {
	case Idle.String():
		return Idle
	case Cancelled.String():
		return Cancelled
	}
	return Failed
}

// readResult fetches the newest result of a kept session from its events.
func (s *Session) readResult() {
	if s.resultID == nil {
		return
	}
	page := s.log.After(s.resultID, 1)
	if len(page.Events) == 0 || page.Events[0].ID != *s.resultID {
		return // too old to be kept
	}
	var r Result
	if json.Unmarshal(page.Events[0].Data, &r) != nil || r.SessionID == "" {
		r = Result{SessionID: s.id, Result: "[withheld]", IsError: s.state == Failed, PermissionDenials: json.RawMessage("[]")}
	}
	r.Redactions = page.Events[0].Redactions
	s.info.Result = &r
	// More than the record keeps, where the result has it: its text is the model's last message.
	if words := strings.TrimPrefix(s.lastOutput, "…"); !r.IsError && strings.HasSuffix(r.Result, words) {
		s.lastOutput = ending(r.Result, maxLastOutput)
	}
}

// notRunning refuses what only a session of this run can do.
func (s *Session) notRunning() error {
	if s.standing() == Cancelled && !s.stopped {
		return endedForGood()
	}
	return s.engine.notAtWork(s.id)
}

// byAge sorts sessions, the newest first.
func byAge(list []*Session) []*Session {
	slices.SortFunc(list, func(a, b *Session) int { return b.created.Compare(a.created) })
	return list
}
