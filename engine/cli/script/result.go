package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// finish reports the end of a turn: an interruption's text, then the result.
func (p *process) finish(a *actor, err error) {
	if errors.Is(err, errExit) {
		return
	}
	t := a.t
	r := p.success(t)
	api, failedAPI := errors.AsType[errAPI](err)
	switch {
	case failedAPI:
		api.fail(r)
	case errors.Is(err, errAbortedTools), errors.Is(err, errDenyInterrupt):
		p.interrupted(a, textInterrupted, r, "aborted_tools")
	case errors.Is(err, errInterrupted):
		p.interrupted(a, "[Request interrupted by user]", r, "aborted_streaming")
	case errors.Is(err, errMaxTurns):
		failed(r, "error_max_turns", "max_turns", "Reached maximum number of turns ("+p.opt.get("--max-turns")+")")
	case errors.Is(err, errMaxBudget):
		failed(r, "error_max_budget_usd", "max_budget", "Reached maximum budget ($"+p.opt.get("--max-budget-usd")+")")
	case errors.Is(err, errHookStopped):
		r["result"], r["terminal_reason"], r["stop_reason"] = "", "hook_stopped", "tool_use"
	case errors.Is(err, errBlocked):
		r["num_turns"], r["stop_reason"] = 0, nil
		delete(r, "terminal_reason")
	case err != nil:
		failed(r, "error_during_execution", "error", err.Error())
	}
	p.apply(t.override, r)
	p.mu.Lock()
	p.lastError = r["is_error"] == true
	p.apiMS += r["duration_api_ms"].(int)
	r["total_cost_usd"], r["duration_api_ms"] = p.cost, p.apiMS // of the process so far
	p.mu.Unlock()
	p.send(p.frame(r))
}

func (p *process) success(t *turn) map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "api_error_status": nil,
		"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1 + t.results, "result": t.lastText,
		"stop_reason": "end_turn", "usage": usage(1), "modelUsage": map[string]any{},
		"permission_denials": t.denials, "terminal_reason": "completed",
	}
	if t.structured != nil {
		line, _ := marshal(t.structured) // came out of a decoder
		r["structured_output"], r["stop_reason"] = t.structured, "tool_use"
		r["result"] = strings.TrimSuffix(string(line), "\n")
	}
	if t.origin != "" {
		r["origin"] = map[string]any{"kind": t.origin}
	}
	return r
}

func (p *process) interrupted(a *actor, text string, r map[string]any, reason string) {
	p.user(&actor{t: a.t}, textBlock(text), nil)
	r["num_turns"] = r["num_turns"].(int) + 1
	failed(r, "error_during_execution", reason, "[ede_diagnostic] "+reason)
}

func failed(r map[string]any, subtype, reason, text string) {
	r["subtype"], r["is_error"], r["terminal_reason"] = subtype, true, reason
	r["stop_reason"], r["errors"] = "tool_use", []string{text}
	delete(r, "result")
	delete(r, "api_error_status")
}

// apply lays the scenario's overrides over a result frame.
func (p *process) apply(o *Result, r map[string]any) {
	if o == nil {
		return
	}
	if o.Subtype != "" {
		r["subtype"] = o.Subtype
		if strings.HasPrefix(o.Subtype, "error") {
			r["is_error"] = true
			delete(r, "result")
		}
	}
	if o.IsError != nil {
		r["is_error"] = *o.IsError
	}
	if o.Text != nil {
		r["result"] = *o.Text
	}
	if o.Errors != nil {
		r["errors"] = o.Errors
	}
	if o.NumTurns != nil {
		r["num_turns"] = *o.NumTurns
	}
	if o.TerminalReason != "" {
		r["terminal_reason"] = o.TerminalReason
	}
	if o.StopReason != "" {
		r["stop_reason"] = o.StopReason
	}
	if o.APIErrorStatus != nil {
		r["api_error_status"] = *o.APIErrorStatus
	}
	if o.StructuredOutput != nil {
		r["structured_output"] = json.RawMessage(o.StructuredOutput)
	}
	if o.Cost != nil {
		p.mu.Lock()
		p.cost = *o.Cost
		p.mu.Unlock()
	}
}

func (r APIRetry) fields() map[string]any {
	return map[string]any{
		"attempt": r.Attempt, "max_retries": r.MaxRetries, "retry_delay_ms": r.DelayMS,
		"error_status": r.Status, "error": r.Error,
	}
}

func agentText(id, text string) []any {
	return []any{textBlock(text), textBlock(fmt.Sprintf("agentId: %s", id))}
}
