package engine

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// What the audit log is told of a session besides decisions.

// recordLaunch records a start, or that a session goes on with another process,
// before there is one.
func (s *Session) recordLaunch(ctx context.Context, l launch) error {
	e := s.engine
	if e.auditor == nil {
		return nil
	}
	s.program.Store(e.programs.look(s.executable(), e.versionOf(s.executable())))
	r := audit.Record{Kind: audit.SessionStart, Detail: auditDetail(map[string]any{"fork": l.fork})}
	if l.resume != "" && !l.fork {
		r.Kind = audit.SessionResume
	}
	s.stamp(&r)
	if err := s.recorded(ctx, r); err != nil {
		return refusal("start", err)
	}
	s.onRecord.Store(true)
	return nil
}

// recordEnd records that nothing of a session is left.
func (s *Session) recordEnd() {
	if s.engine.auditor == nil || !s.onRecord.Load() {
		return
	}
	r := audit.Record{Kind: audit.SessionEnd}
	t, _ := s.auditTexts(recordTexts{Reason: s.Info().CancelledReason})
	s.mu.Lock()
	members := map[string]any{
		"reason": t.Reason, "source": s.cancelSource, "final": s.final, "turns": s.info.TotalTurns, "cost_usd": s.info.TotalCostUSD,
		"tool_calls": s.toolCalls, "denies": s.denies, "asks": s.asks,
	}
	s.mu.Unlock()
	members["notes_left_out"] = s.noted.rest()
	r.Detail = auditDetail(members)
	s.stamp(&r)
	s.engine.recordAnyway(s.untilDone(), r)
}

// versionOf is what an executable said of itself.
func (e *Engine) versionOf(path string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.versions[path]
}

// questionRecord is what records of a question share.
func (s *Session) questionRecord(kind audit.Kind, q permission.Question, shown string) audit.Record {
	t, _ := s.auditTexts(recordTexts{
		Tool: q.Request.Tool, ToolUseID: q.Request.ToolUseID, AgentID: q.Request.AgentID,
		Rule: q.Decision.Rule, Rules: q.Decision.Rules, Reason: q.Decision.Reason,
	})
	r := audit.Record{
		Kind: kind, Door: string(q.Request.Door), Tool: t.Tool, ToolUseID: t.ToolUseID, AgentID: t.AgentID, RequestID: q.ID, ShownDigest: shown,
		Verdict: &audit.Verdict{ID: q.Decision.DecisionID, Effect: "ask", Rule: t.Rule, Reason: t.Reason, Rules: t.Rules},
		Policy:  policies(permissionPackage, q.Decision),
	}
	s.stamp(&r)
	return r
}

func (s *Session) noteAsked(q permission.Question, shown string) {
	if s.engine.auditor != nil {
		s.engine.auditor.note(s.questionRecord(audit.ApprovalAsked, q, shown))
	}
}

func (s *Session) noteExpired(q permission.Question) {
	if s.engine.auditor == nil {
		return
	}
	r := s.questionRecord(audit.ApprovalExpired, q, s.refer(q.ID).shown)
	r.Verdict.Effect, r.By = "deny", &audit.By{Kind: "timeout"}
	s.engine.auditor.note(r)
}

// noteAnswered tells of an answer that counted; left is how many more it takes.
func (s *Session) noteAnswered(ctx context.Context, q permission.Question, v permission.Verdict, ref questionRef, left int) {
	if s.engine.auditor == nil {
		return
	}
	r := s.questionRecord(audit.ApprovalAnswered, q, ref.shown)
	r.Verdict.Effect, r.By, r.Principal = effectWord(v.Allow), decidedBy(v.Source, q.Decision), principal(callerOf(ctx))
	r.Detail = auditDetail(map[string]any{"approvals_missing": left, "interrupt": v.Interrupt})
	s.engine.auditor.note(r)
}

// noteRedactions tells what was covered in an event: once for each, with the
// counts by detector.
func (s *Session) noteRedactions(e event.Event) event.Event {
	if s.engine.auditor == nil || len(e.Redactions) == 0 {
		return e
	}
	counts := make(map[string]int)
	for _, found := range e.Redactions {
		counts[found.Detector] += found.Count
	}
	s.note(audit.Redaction, map[string]any{"event_id": e.ID, "event_type": string(e.Type), "detectors": counts})
	return e
}

// noticed are the notices that the audit log is told of.
var noticed = map[string]audit.Kind{"protocol_error": audit.ProtocolError, "limit": audit.Limit, "processes_left": audit.Limit}

// noteNotice tells of a notice, if it is one of those.
func (s *Session) noteNotice(kind, message string) {
	if k := noticed[kind]; k != "" && s.engine.auditor != nil {
		t, _ := s.auditTexts(recordTexts{Message: message})
		s.note(k, map[string]any{"message": t.Message})
	}
}

func (s *Session) noteUnmediated(sign, toolUse string) {
	if s.engine.auditor == nil {
		return
	}
	t, _ := s.auditTexts(recordTexts{ToolUseID: toolUse, Tool: s.calls.tool(toolUse)})
	r := audit.Record{Kind: audit.Unmediated, Tool: t.Tool, ToolUseID: t.ToolUseID, Detail: auditDetail(map[string]any{"sign": sign})}
	s.stamp(&r)
	s.engine.auditor.note(r)
}

// maxNotes bounds the records a minute that a session's CLI can bring about by
// what it writes. Those left out are counted in the next one.
const maxNotes = 300

// note tells of something within that bound.
func (s *Session) note(kind audit.Kind, detail map[string]any) {
	missed, ok := s.noted.take(time.Now())
	if !ok {
		return
	}
	detail["left_out"] = missed
	r := audit.Record{Kind: kind, Detail: auditDetail(detail)}
	s.stamp(&r)
	s.engine.auditor.note(r)
}

// notes counts what was told and what was not.
type notes struct {
	mu     sync.Mutex
	minute time.Time // when the one that is counted began
	told   int
	missed int
}

// take says whether one more may be told, and how many were left out before it.
func (n *notes) take(now time.Time) (missed int, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.minute) >= time.Minute {
		n.minute, n.told = now, 0
	}
	if n.told >= maxNotes {
		n.missed++
		return 0, false
	}
	n.told++
	missed, n.missed = n.missed, 0
	return missed, true
}

// rest is what was left out since the last one that was told.
func (n *notes) rest() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.missed
}
