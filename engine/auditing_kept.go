package engine

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What the audit log is told of sessions that are only kept. Nothing of them runs,
// so nothing waits for it.

// keptRecord is what records of a kept session share.
func keptRecord(kind audit.Kind, r event.SessionRecord, k keptState) audit.Record {
	return audit.Record{Kind: kind, Session: r.ID, Parent: r.Parent, Cwd: r.Cwd, Principal: principal(k.Caller)}
}

// noteRestart records what a session was told of the end of its server: questions
// that are denied by it and, if a turn was under way, the end.
func (e *Engine) noteRestart(log *event.Log, r event.SessionRecord, k keptState, denied []permissionRecord, busy bool) {
	if e.auditor == nil {
		return
	}
	c := func(p event.Payload) (json.RawMessage, []event.Redaction, bool) {
		return log.Redact(context.WithoutCancel(e.ctx), p)
	}
	for _, d := range denied {
		t, _ := recordTexts{Tool: d.ToolName, ToolUseID: d.ToolUseID, AgentID: d.AgentID}.covered(c, d.ToolName)
		a := keptRecord(audit.Decision, r, k)
		a.Tool, a.ToolUseID, a.AgentID, a.RequestID = t.Tool, t.ToolUseID, t.AgentID, d.RequestID
		a.Verdict = &audit.Verdict{Effect: d.Behavior, Rule: d.Rule, Reason: d.Reason}
		a.By = &audit.By{Kind: "engine", Name: d.Source}
		e.auditor.note(a)
	}
	if busy {
		e.noteKeptEnd(r, k, endedWithServer, "restart")
	}
}

// noteKeptEnd records the end of a session that nobody recorded while it lived, or
// of one that is cancelled later.
func (e *Engine) noteKeptEnd(r event.SessionRecord, k keptState, reason, source string) {
	if e.auditor == nil {
		return
	}
	a := keptRecord(audit.SessionEnd, r, k)
	a.Detail = auditDetail(map[string]any{
		"reason": reason, "source": source, "final": r.Final, "turns": r.Turns, "cost_usd": r.CostUSD, "kept": true,
	})
	e.auditor.note(a)
}
