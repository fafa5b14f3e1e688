package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// A server that is killed leaves sessions whose records say that a turn is under
// way, or that questions wait. Whoever comes upon one closes its books: questions
// are told as denied, then the turn as failed. Each step looks at what the events
// say already, so that it may be cut short and begun again by another server.

// endedWithServer is what clients are told of a turn that a server took with it.
const endedWithServer = "the server ended while a turn was under way"

// unclosed reports whether somebody has to close the books of a session.
func unclosed(r event.SessionRecord, k keptState) bool {
	return inTurn(r, k) || len(k.Open) > 0
}

// inTurn reports whether the end of a turn is not told yet.
func inTurn(r event.SessionRecord, k keptState) bool {
	return busyName(r.State) || k.Stopped != nil && k.Stopped.Cut
}

func busyName(state string) bool {
	return state == Running.String() || state == Waiting.String()
}

// closeBooks does so, as the writer of the history, and returns the record then.
func (e *Engine) closeBooks(p *place, r event.SessionRecord) (event.SessionRecord, error) {
	k, err := readKept(r)
	if err != nil || !unclosed(r, k) {
		return r, err
	}
	log := event.NewLog(e.o.MaxEventBytes, e.o.Redactors...)
	log.Keep(p)
	defer e.observeKept(log, r, k)()
	busy := inTurn(r, k)
	r, denied, err := e.tellEnd(log, p, r, k)
	if err == nil {
		err = log.Unsaved()
	}
	if err == nil {
		e.noteRestart(log, r, k, denied, busy)
		err = p.Put(r)
	}
	if err != nil {
		return r, fmt.Errorf("close the books of session %s: %w", r.ID, err)
	}
	return r, nil
}

// tellEnd appends what is missing to the log of a session's place and returns its
// record as it is then, and the questions that were told as denied.
func (e *Engine) tellEnd(log *event.Log, p *place, r event.SessionRecord, k keptState) (_ event.SessionRecord, denied []permissionRecord, _ error) {
	busy, stop := inTurn(r, k), k.Stopped
	f, err := lookBack(p, k, busy)
	if err != nil {
		return r, nil, err
	}
	add := func(kind event.Kind, payload any) event.Event {
		raw, _ := json.Marshal(payload) // our own types, which can be encoded
		return log.Append(context.WithoutCancel(e.ctx), kind, raw)
	}
	for _, q := range k.Open {
		if !f.answered[q.RequestID] {
			denied = append(denied, deniedByRestart(q, f.asked[q.RequestID]))
			add(event.PermissionResult, denied[len(denied)-1])
		}
	}
	k.Open = nil
	if stop != nil {
		stop.Cut = false
	}
	if busy {
		k.Prompts++
		k.Words = "" // nobody gathered them
		if stop == nil {
			r.State = Failed.String()
		}
		switch {
		case f.end == nil:
			if !f.noticed && stop == nil {
				add(event.Notice, map[string]any{"type": "restart", "message": endedWithServer + "; a reply continues the session"})
			}
			end := add(event.Error, endResult(r, stop))
			k.Result = &end.ID
		default: // it ended, only the record does not say so
			k.Result = &f.end.ID
			catchUpTotals(&r, f.end)
			if f.end.Type == event.Result && stop == nil {
				r.State = Idle.String()
			}
		}
	}
	r.Updated, r.Server = time.Now().UTC(), e.o.Server
	r.Engine, err = jsonOf(k)
	return r, denied, err
}

// deniedByRestart shows the input as the question did; nil where no event put it.
func deniedByRestart(q openQuestion, input json.RawMessage) permissionRecord {
	return permissionRecord{
		RequestID: q.RequestID, ToolUseID: q.ToolUseID, AgentID: q.AgentID, ToolName: q.Tool, Input: input, InputSHA256: q.SHA256,
		Behavior: "deny", Source: "restart", Rule: "engine.restart", Reason: "the server ended before anybody answered",
		Message: "the server ended before anybody answered; the call was not run",
	}
}

// catchUpTotals takes over what an event tells of totals that a record does not.
func catchUpTotals(r *event.SessionRecord, end *event.Event) {
	var told Result
	if json.Unmarshal(end.Data, &told) == nil {
		r.Turns, r.CostUSD = max(r.Turns, told.SessionTotalTurns), max(r.CostUSD, told.SessionTotalCostUSD)
	}
}

// endResult is the end of a turn that a server took with it; stop: which somebody had
// stopped at that moment.
func endResult(r event.SessionRecord, stop *keptStop) Result {
	why := &Error{Code: Internal, Message: endedWithServer + "; send a reply to go on"}
	if stop != nil {
		why = &Error{Code: CancelledCode, Message: cmp.Or(stop.Reason, "session was stopped")}
	}
	return Result{
		SessionID: r.ID, Result: why.Error(), IsError: true, Code: why.Code, ErrorType: SessionError, PermissionDenials: json.RawMessage("[]"),
		SessionTotalTurns: r.Turns, SessionTotalCostUSD: r.CostUSD,
	}
}

// findings are what the events of an unclosed session say of its end.
type findings struct {
	answered map[string]bool            // by request id
	asked    map[string]json.RawMessage // inputs that were shown, by request id
	end      *event.Event               // of the turn
	noticed  bool                       // that its server ended
}

// lookBack reads the events since the first of what is open.
func lookBack(p *place, k keptState, busy bool) (findings, error) {
	f := findings{answered: make(map[string]bool), asked: make(map[string]json.RawMessage)}
	_, next := p.Bounds()
	from := next
	if busy {
		from = k.BusyFrom
	}
	for _, q := range k.Open {
		from = min(from, q.From)
	}
	for from < next {
		page, err := p.Read(event.Window{From: &from})
		if err != nil {
			return f, err
		}
		for i := range page.Events {
			f.note(&page.Events[i], k, busy)
		}
		if page.Next <= from {
			return f, errors.New("the history cannot be read to its end")
		}
		from = page.Next
	}
	return f, nil
}

func (f *findings) note(e *event.Event, k keptState, busy bool) {
	var is struct {
		RequestID string          `json:"requestId"`
		Type      string          `json:"type"`
		Input     json.RawMessage `json:"input"`
	}
	open := func(q openQuestion) bool { return q.RequestID == is.RequestID }
	switch {
	case e.Type == event.PermissionAsked:
		if json.Unmarshal(e.Data, &is) == nil && slices.ContainsFunc(k.Open, open) {
			f.asked[is.RequestID] = is.Input
		}
	case e.Type == event.PermissionResult && json.Unmarshal(e.Data, &is) == nil && is.RequestID != "":
		f.answered[is.RequestID] = true
	case e.Type.Terminal() && busy && e.ID >= k.BusyFrom:
		f.end = e
	case e.Type == event.Notice && e.ID >= k.BusyFrom && json.Unmarshal(e.Data, &is) == nil && is.Type == "restart":
		f.noticed = true
	}
}

// readKept decodes what a record holds for the engine.
func readKept(r event.SessionRecord) (keptState, error) {
	var k keptState
	if len(r.Engine) == 0 {
		return k, nil
	}
	if err := json.Unmarshal(r.Engine, &k); err != nil {
		return k, fmt.Errorf("record of session %s: %w", r.ID, err)
	}
	return k, nil
}
