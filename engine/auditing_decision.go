package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// outcome is what a record tells of a decision besides its event.
type outcome struct {
	door     permission.Door
	decision permission.Decision
	input    json.RawMessage // the exact bytes that were judged, or would run
	shown    string          // digest of the question, as asking.shown
	secret   bool            // the input was filled into a form: nothing of it is shown
	action   string          // of a form's answer
	filled   int             // members of a form that were sent
	phase    string          // of a call of a tool in this process
	result   permission.InprocResult
}

// judged is the payload of a permission_result event.
type judged interface{ base() *permissionRecord }

func (r *permissionRecord) base() *permissionRecord { return r }

// permit shows that what lets something run was written down; only permitted and
// permittedCall give one out. HandleRequest holds an allow back that has none, and
// governedCall.deliver a call.
type permit struct{ written bool }

// unpermitted says whether an answer lets something happen that has no permit.
func unpermitted(answer any) bool {
	switch a := answer.(type) {
	case allowAnswer:
		return !a.permit.written
	case formAnswer:
		return a.Action == "accept" && !a.permit.written
	}
	return false
}

// permitted writes an allow down, to the audit log and as an event to the journal.
// Every allow passes here before it takes effect; with an error, which is an
// *unrecorded, it must not.
func (s *Session) permitted(ctx context.Context, rec judged) (permit, error) {
	if err := s.stored(ctx, false); err != nil { // so that no event tells of an allow that is none
		return permit{}, unkept(err)
	}
	r := rec.base()
	if err := s.recorded(ctx, s.decisionRecord(r)); err != nil {
		return permit{}, err
	}
	s.add(event.Payload{Kind: event.PermissionResult, Tool: r.ToolName}, rec)
	if err := s.storedSoon(ctx); err != nil {
		return permit{}, unkept(err)
	}
	return permit{written: true}, nil
}

// recorded waits until r is in the audit log. The error is an *unrecorded.
func (s *Session) recorded(ctx context.Context, r audit.Record) error {
	err := s.engine.auditor.record(ctx, r)
	if err == nil {
		return nil
	}
	s.engine.logUnaudited(r, err)
	return unaudited(err)
}

// denied writes a deny down. It stands whether or not that works.
func (s *Session) denied(ctx context.Context, rec judged) {
	ctx = context.WithoutCancel(ctx) // a question is denied because the session ends, too
	r := rec.base()
	s.engine.recordAnyway(ctx, s.decisionRecord(r))
	s.add(event.Payload{Kind: event.PermissionResult, Tool: r.ToolName}, rec)
	if s.engine.auditor == nil {
		_ = s.storedSoon(ctx) // the next allow is told
	}
}

// storedSoon waits for the journal: for the disk only where no audit log has what
// was decided.
func (s *Session) storedSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	return s.stored(ctx, s.engine.auditor == nil)
}

// recordAnyway records what takes effect in any case. What cannot be waited for is
// told of as soon as the log can be written again.
func (e *Engine) recordAnyway(ctx context.Context, r audit.Record) {
	if r.Verdict != nil && r.Verdict.Rule == ruleAudit {
		e.auditor.note(r) // the log has just failed
		return
	}
	if err := e.auditor.record(ctx, r); err != nil {
		e.logUnaudited(r, err)
		e.auditor.note(r)
	}
}

// decisionRecord is the record of a decision about a call, a form or a mention.
func (s *Session) decisionRecord(r *permissionRecord) audit.Record {
	if s.engine.auditor == nil {
		return audit.Record{}
	}
	o := r.about
	given := recordTexts{Tool: r.ToolName, ToolUseID: r.ToolUseID, AgentID: r.AgentID, Rule: r.Rule, Rules: r.Rules, Reason: r.Reason}
	if r.Source != "policy" && r.Behavior != "allow" {
		given.Message = r.Message
	}
	given.Errors = pluginErrors(o.decision.Plugins)
	if !o.secret && json.Valid(o.input) {
		given.Input = o.input
	}
	t, excerpt := s.auditTexts(given)
	d := o.decision
	out := audit.Record{
		Kind: audit.Decision, Door: string(o.door), Tool: t.Tool, ToolUseID: t.ToolUseID, AgentID: t.AgentID,
		Input: &audit.Input{Raw: o.input, Excerpt: excerpt},
		Verdict: &audit.Verdict{
			ID: d.DecisionID, Effect: r.Behavior, Rule: t.Rule, Reason: t.Reason, Rules: t.Rules, Obligations: r.Obligations, Changed: r.Changed,
		},
		By: decidedBy(r.Source, d), Policy: policies(packageOf(o.door), d), Plugins: auditedPlugins(d.Plugins, t.Errors),
		EvalMicros: d.Took.Microseconds(), RequestID: r.RequestID, ShownDigest: o.shown,
		Detail: auditDetail(map[string]any{"message": t.Message, "interrupt": r.Interrupt, "action": o.action, "filled": o.filled, "phase": o.phase, "result_bytes": o.result.Bytes, "result_error": o.result.IsError}),
	}
	if d.Effect == permission.Halt && r.Behavior != "allow" {
		out.Verdict.Effect = d.Effect.String()
	}
	s.stamp(&out)
	return out
}

// The Rego packages whose rules decide.
const (
	permissionPackage = "gatehouse.permission"
	admissionPackage  = "gatehouse.admission"
	inprocPackage     = "gatehouse.inproc"
)

// packageOf is the package whose rules decide at a door.
func packageOf(door permission.Door) string {
	if door == permission.DoorInproc {
		return inprocPackage
	}
	return permissionPackage
}

// policies are those that decided; nil where none was asked.
func policies(name string, d permission.Decision) *audit.Policy {
	if d.Revision == "" {
		return nil
	}
	return &audit.Policy{Package: name, Revision: d.Revision}
}

// auditTexts redacts texts of the session for the audit log.
func (s *Session) auditTexts(t recordTexts) (recordTexts, string) {
	return t.covered(s.auditCover(), t.Tool)
}

func (s *Session) auditCover() cover {
	return func(p event.Payload) (json.RawMessage, []event.Redaction, bool) {
		return s.log.Redact(s.untilDone(), p)
	}
}

// stamp adds what all records of a session have.
func (s *Session) stamp(r *audit.Record) {
	r.Session, r.Parent, r.Cwd, r.CLI = s.id, s.parent, s.cwd, s.program.Load().told()
	if r.Principal == nil {
		r.Principal = principal(s.caller)
	}
}

func principal(c permission.Caller) *audit.Principal {
	return &audit.Principal{
		Transport: c.Transport, Client: visible(c.Client), Version: visible(c.Version), Subject: c.Subject, Groups: c.Groups, UID: c.UID, Remote: c.Remote,
	}
}

// failures are the rules of the engine that tell of a judgement that came to none.
var failures = []string{
	"engine.error", "engine.timeout", "engine.panic", "engine.busy", "engine.cancelled", "engine.stuck", "engine.undefined", "engine.decode", ruleAudit, ruleStore,
}

// decidedBy names who decided: source is the word of events.
func decidedBy(source string, d permission.Decision) *audit.By {
	switch {
	case source == "respond":
		return &audit.By{Kind: "approver", Name: approverClient}
	case source == "human":
		return &audit.By{Kind: "approver", Name: approverHuman}
	case source == "timeout" || source == "grant" || source == byBypass:
		return &audit.By{Kind: source}
	case source != "policy": // cancel, process, cli: the question was withdrawn
		return &audit.By{Kind: "engine", Name: source}
	case slices.Contains(failures, d.Rule):
		return &audit.By{Kind: "error", Name: d.Rule}
	case d.By == "" || d.By == "policy":
		return &audit.By{Kind: "policy", Name: d.Layer}
	case d.Plugin() != "":
		return &audit.By{Kind: "plugin", Name: d.Plugin()}
	}
	return &audit.By{Kind: d.By}
}

// auditDetail is an object of the members that say something; nil when none does.
func auditDetail(members map[string]any) json.RawMessage {
	for name, v := range members {
		switch v {
		case "", 0, false, int64(0), 0.0:
			delete(members, name)
		}
	}
	if len(members) == 0 {
		return nil
	}
	raw, err := plainJSON(members)
	if err != nil {
		return nil // cannot happen: texts and numbers
	}
	return raw
}

// weigh asks the chain and notes what that took.
func (s *Session) weigh(ctx context.Context, r permission.Request) permission.Decision {
	began := time.Now()
	d := s.engine.chain.Decide(ctx, r)
	d.Took = time.Since(began)
	return d
}

// mentioned writes down what was decided about a file that a prompt mentions.
func (s *Session) mentioned(ctx context.Context, r permission.Request, d permission.Decision) error {
	if d.Effect != permission.Allow {
		rec := record(r, d, "deny", "policy", "")
		s.engine.recordAnyway(ctx, s.decisionRecord(&rec))
		return nil
	}
	rec := record(r, d, "allow", "policy", "")
	if err := s.recorded(ctx, s.decisionRecord(&rec)); err != nil {
		return refusal("prompt", err)
	}
	return nil
}

// refused records a deny of our own that is told otherwise than as a decision.
func (s *Session) refused(ctx context.Context, r permission.Request, rule, reason string) {
	rec := record(r, permission.Decision{Effect: permission.Deny, Rule: rule, Reason: reason, By: "engine"}, "deny", "policy", "")
	s.engine.recordAnyway(context.WithoutCancel(ctx), s.decisionRecord(&rec))
}

// unreadable records a call that could not be read.
func (s *Session) unreadable(ctx context.Context, door permission.Door, tool, toolUse, agent string, input json.RawMessage) {
	r := permission.Request{Door: door, Tool: tool, ToolUseID: toolUse, AgentID: agent, Input: input}
	s.refused(ctx, r, "engine.decode", "the call could not be read")
}

// refer is the reference to an open question.
func (s *Session) refer(id string) questionRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	return questionRef{id: id, shown: s.actions[id].digest}
}

// refusedExpansion records that a command's text could not be judged.
func (s *Session) refusedExpansion(ctx context.Context, reason string) {
	s.refused(ctx, permission.Request{Door: permission.DoorMention}, "engine.expansion", reason)
}
