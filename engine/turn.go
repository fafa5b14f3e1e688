package engine

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// frameResult is the CLI's result message (PROTOCOL: is_error decides, not subtype).
type frameResult struct {
	Subtype           string          `json:"subtype"`
	IsError           bool            `json:"is_error"`
	Result            string          `json:"result"`
	Errors            []string        `json:"errors"`
	NumTurns          int             `json:"num_turns"`
	DurationMS        int64           `json:"duration_ms"`
	DurationAPIMS     int64           `json:"duration_api_ms"`
	TotalCostUSD      float64         `json:"total_cost_usd"`
	StopReason        *string         `json:"stop_reason"`
	TerminalReason    string          `json:"terminal_reason"`
	APIErrorStatus    int             `json:"api_error_status"` // 0: none
	APIErrorType      string          `json:"api_error_type"`
	StructuredOutput  json.RawMessage `json:"structured_output"`
	Usage             json.RawMessage `json:"usage"`
	ModelUsage        json.RawMessage `json:"modelUsage"`
	PermissionDenials json.RawMessage `json:"permission_denials"`
}

// handleResult ends a turn. A result is not the end of work: background tasks go on.
func (p *process) handleResult(fields map[string]json.RawMessage) {
	f := decodeFrame[frameResult](fields)
	s := p.session
	p.deltas.endAll(func(k blockKey) bool { return k.parent == "" || k.parent == "null" }) // of a turn that was interrupted
	p.settle()
	p.tellNoise()
	s.mu.Lock()
	cost := max(f.TotalCostUSD-p.cost, 0)    // the CLI tells its process's total
	apiMS := max(f.DurationAPIMS-p.apiMS, 0) // the same
	p.cost, p.apiMS = f.TotalCostUSD, f.DurationAPIMS
	p.restLocked(time.Now())
	if len(p.tasks) == 0 {
		s.duties.clear() // of calls that were interrupted
		p.governing.passes.clear()
		p.governing.settled.clear()
	}
	s.info.TotalTurns += f.NumTurns
	s.info.TotalCostUSD += cost
	r := Result{
		SessionID: s.id, Result: resultText(f), IsError: f.IsError,
		DurationMS: f.DurationMS, DurationAPIMS: apiMS, NumTurns: f.NumTurns, TotalCostUSD: cost,
		SessionTotalTurns: s.info.TotalTurns, SessionTotalCostUSD: s.info.TotalCostUSD, StopReason: f.StopReason,
		StructuredOutput: f.StructuredOutput, Usage: f.Usage, ModelUsage: f.ModelUsage,
		PermissionDenials: orEmptyList(f.PermissionDenials),
	}
	claimed, ends, aborted := s.resultLocked(p, f.IsError)
	switch {
	case aborted != nil:
		r.ErrorType, r.RetryAfter = s.outsideLocked(aborted.Code, time.Now())
	case r.IsError:
		r.ErrorType, r.RetryAfter = s.insideLocked(f, time.Now())
	}
	s.mu.Unlock()
	s.engine.spent.add(time.Now(), identity(s.caller), cost)
	if f.Subtype != "success" {
		r.ErrorSubtype = f.Subtype
	}
	if aborted != nil {
		r.IsError, r.Code, r.Result = true, aborted.Code, aborted.Error()
	}
	p.lostTranscript(&r)
	kind, t := event.Result, turnDone
	if r.IsError {
		r.Result += gitBashHint(r.Result)
		kind, t = event.Error, turnFailed
	}
	if ends {
		s.endTurn(claimed, kind, r, t)
	} else {
		s.tellResult(kind, r)
	}
	s.remember()
}

// settle covers what a turn has left behind.
func (p *process) settle() {
	s := p.session
	s.mu.Lock()
	working := len(p.tasks) > 0 // and may be writing
	s.mu.Unlock()
	if !working {
		s.coverRest()
	}
}

func resultText(f frameResult) string {
	return cmp.Or(f.Result, strings.Join(f.Errors, "\n"))
}

func orEmptyList(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("[]")
	}
	return raw
}

// endTurn tells the result, changes the state and gives the slot back. The caller has
// claimed the turn; nil: none was under way.
func (s *Session) endTurn(turn *Turn, kind event.Kind, r Result, t trigger) {
	shown := s.tellResult(kind, r)
	var err error
	s.mu.Lock()
	s.turnEndedLocked()
	if s.before.Busy() { // cancelled in the turn, but not for good
		s.before, _ = s.before.after(t)
	}
	if turn == s.working || !s.state.Busy() { // else a reply came in that moment
		err = s.updateLocked(t)
	}
	if s.state != Cancelled { // a cancel ends the turn when nothing of it is left
		turn.endLocked(shown)
	}
	s.mu.Unlock()
	if err != nil {
		s.engine.log.Warn("end of turn", "session", s.id, "error", err)
	}
	s.keepEnd()
	if turn != nil {
		turn.ticket.leave()
	}
}

// tellResult appends a result; what clients later read is the redacted copy.
func (s *Session) tellResult(kind event.Kind, r Result) Result {
	e := s.append(kind, r)
	var shown Result
	if json.Unmarshal(e.Data, &shown) != nil || shown.SessionID == "" {
		shown = Result{SessionID: s.id, Result: "[withheld]", IsError: r.IsError, Code: r.Code, ErrorType: r.ErrorType, RetryAfter: r.RetryAfter, PermissionDenials: json.RawMessage("[]")}
	}
	shown.Redactions = e.Redactions
	s.mu.Lock()
	s.info.Result, s.resultID = &shown, &e.ID
	s.mu.Unlock()
	return shown
}

// decodeFrame reads the fields of a message it knows; fields of an odd type
// stay zero, since newer CLIs change details.
func decodeFrame[T any](fields map[string]json.RawMessage) T {
	var v T
	raw, err := json.Marshal(fields)
	if err == nil {
		_ = json.Unmarshal(raw, &v) // an odd field leaves the rest decoded
	}
	return v
}
