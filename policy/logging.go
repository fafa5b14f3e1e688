package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
	"github.com/open-policy-agent/opa/v1/ast"
)

// DecisionLog is told every decision, after it was made. Record returns at once
// and may be called by many goroutines; what the entry holds does not change.
type DecisionLog interface {
	Record(e decisionlog.Entry)
}

var _ DecisionLog = (*decisionlog.Log)(nil)

// documentShare is how many bytes of a document come with each byte of a call's
// input, roughly, and documentBase what every document has. They bound the
// log's queue and nothing else.
const (
	documentShare = 3
	documentBase  = 6 << 10
)

// recording follows one decision until it is written down. The nil recording
// follows nothing, which is all that a set without a log pays.
type recording struct {
	set   *Set
	entry decisionlog.Entry
	began time.Time
	asked map[string]any // what was asked, for a decision that has no document

	mu   sync.Mutex // an evaluation that ignores its deadline may still begin another
	seen []*trace
}

func (s *Set) recording(e Entrypoint, c permission.Caller, size int) *recording {
	if s.options.Decisions == nil {
		return nil
	}
	return &recording{set: s, began: time.Now(), entry: decisionlog.Entry{
		Path: "gatehouse/" + string(e) + "/decisions", Profile: s.options.Profile,
		RequestedBy: cmp.Or(c.Subject, c.Client), Size: documentBase + documentShare*size,
	}}
}

func (s *Set) recordCall(r permission.Request) *recording {
	rec := s.recording(EntryPermission, r.Caller, len(r.Input)+annotationBytes(r.Annotations))
	if rec != nil {
		rec.asked = map[string]any{"session": r.SessionID, "tool": r.Tool, "door": string(r.Door), "use_id": r.ToolUseID}
		if r.Door == permission.DoorAnswer && r.Tool == formTool {
			rec.entry.Hide = []string{"/input/tool/input/content"} // a form may ask for a password
			rec.entry.Replace = hiddenAnnotations(r.Annotations)
		}
	}
	return rec
}

func (s *Set) recordInproc(r permission.InprocRequest) *recording {
	rec := s.recording(EntryInproc, r.Call.Caller, len(r.Call.Input))
	if rec != nil {
		rec.asked = map[string]any{
			"session": r.Call.SessionID, "tool": r.Call.Tool, "use_id": r.Call.ToolUseID, "phase": r.Phase, "server": r.Server,
		}
	}
	return rec
}

// formTool is the tool as which a form of an MCP server is judged.
const formTool = "Elicitation"

func (s *Set) recordRequest(r admission.Request) *recording {
	if s.options.Decisions == nil {
		return nil
	}
	size := annotationBytes(r.Annotations)
	for _, raw := range r.Parameters {
		size += len(raw)
	}
	rec := s.recording(EntryAdmission, r.Caller, size)
	rec.asked = map[string]any{"session": r.SessionID, "action": string(r.Action)}
	rec.entry.Hide = hiddenParameters(r.Parameters)
	rec.entry.Replace = coveredServers(r)
	if r.Approval.Tool == formTool {
		rec.entry.Hide = append(rec.entry.Hide, "/input/approval/updated_input")
	}
	if len(rec.entry.Hide)+len(rec.entry.Replace) > 0 {
		rec.entry.Replace = append(rec.entry.Replace, hiddenAnnotations(r.Annotations)...)
	}
	if r.Action == admission.Answer {
		rec.entry.Custom = map[string]any{"approval": map[string]any{
			"request_id": r.Approval.RequestID, "decision_id": r.Approval.DecisionID, "tool": r.Approval.Tool, "effect": r.Approval.Effect,
			"approver": r.Approval.Approver, "input_changed": r.Approval.InputChanged,
		}}
	}
	return rec
}

// begin makes the trace of one evaluation; a changed input is evaluated again.
func (rec *recording) begin() *trace {
	if rec == nil {
		return nil
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	t := &trace{}
	rec.seen = append(rec.seen, t)
	return t
}

// done hands the decision to the log and returns it with its id.
func (rec *recording) done(d permission.Decision) permission.Decision {
	if rec == nil {
		return d
	}
	t := rec.decisive(d.DecisionID)
	if d.DecisionID == "" {
		d.DecisionID = cmp.Or(t.id(), newDecisionID())
	}
	e := rec.entry
	e.ID, e.Time, e.Duration, e.Eval = d.DecisionID, rec.began, time.Since(rec.began), t.rego()
	e.Revisions = maps.Clone(d.Revisions)
	e.RuleLabels = t.labels()
	e.Result = loggedResult{d, t, rec.set}
	if strings.HasPrefix(d.Rule, "engine.") && d.By == "engine" && d.Rule != "engine.default" {
		e.Error = &decisionlog.Failure{Code: d.Rule, Message: strings.Join(append([]string{d.Reason}, d.Diagnostics...), ": ")}
	}
	if input := t.document(); input != nil {
		e.Input = func() (json.RawMessage, error) { return writtenTerm(input) }
	} else {
		e.Custom = maps.Clone(e.Custom)
		if e.Custom == nil {
			e.Custom = map[string]any{}
		}
		e.Custom["asked"] = rec.asked
	}
	if rec.set.masks() {
		e.Mask = rec.set.maskOps
	}
	rec.set.options.Decisions.Record(e)
	return d
}

// decisive is the evaluation that made the decision, or else the last one.
func (rec *recording) decisive(id string) *trace {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, t := range rec.seen {
		if id != "" && t.id() == id {
			return t
		}
	}
	if len(rec.seen) == 0 {
		return nil
	}
	return rec.seen[len(rec.seen)-1]
}

func (s *Set) maskOps(ctx context.Context, event json.RawMessage) ([]decisionlog.MaskOp, error) {
	ops, err := s.Mask(ctx, event)
	all := make([]decisionlog.MaskOp, len(ops))
	for i, op := range ops {
		all[i] = decisionlog.MaskOp(op)
	}
	return all, err
}

// saw notes the document that is judged.
func (t *trace) saw(input ast.Value) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.input = input
}

// document is the document that was judged, nil when none came about.
func (t *trace) document() ast.Value {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.input
}

// id is the decision id in the document.
func (t *trace) id() string {
	object, ok := t.document().(ast.Object)
	if !ok {
		return ""
	}
	if id := object.Get(ast.InternedTerm("decision_id")); id != nil {
		text, _ := id.Value.(ast.String)
		return string(text)
	}
	return ""
}

// rego is the time that Rego took.
func (t *trace) rego() (sum time.Duration) {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.layers {
		sum += l.took
	}
	return sum
}

// labels are those of the rules that spoke, each once.
func (t *trace) labels() (all []map[string]string) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.layers {
		for _, v := range l.verdicts {
			same := func(o map[string]string) bool { return maps.Equal(o, v.Labels) }
			if len(v.Labels) > 0 && !slices.ContainsFunc(all, same) {
				all = append(all, v.Labels)
			}
		}
	}
	return all
}
