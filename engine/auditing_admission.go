package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// recordAdmission writes an admission down before it takes effect. s is the session
// it is about, nil for a list. What starts or lets something run must be recorded;
// a refusal, a deny, a cancel and a list stand in any case: with a full disk there
// is still a way to see and end what runs.
func (e *Engine) recordAdmission(ctx context.Context, s *Session, r admission.Request, d permission.Decision, took time.Duration) error {
	if e.auditor == nil {
		return nil
	}
	rec := e.admissionRecord(ctx, s, r, d, took)
	if d.Effect != permission.Allow || !mustRecord(r) {
		e.recordAnyway(ctx, rec)
		return nil
	}
	if err := e.auditor.record(ctx, rec); err != nil {
		e.logUnaudited(rec, err)
		return unaudited(err)
	}
	return nil
}

func mustRecord(r admission.Request) bool {
	switch r.Action {
	case admission.Cancel, admission.List:
		return false
	case admission.Configure:
		return textOf(r.Parameters["action"]) == enableBypass
	case admission.Answer:
		return r.Approval.Effect != "deny"
	}
	return true
}

// recordRefusal records what was refused before policy was asked, or after: err is
// what the caller is told. Mistakes of callers are none of the log's business.
func (e *Engine) recordRefusal(ctx context.Context, s *Session, r admission.Request, err error) {
	if d := refusedBy(err); d.Effect == permission.Deny {
		e.recordRefused(ctx, s, r, d)
	}
}

func (e *Engine) recordRefused(ctx context.Context, s *Session, r admission.Request, d permission.Decision) {
	if e.auditor != nil {
		e.recordAnyway(context.WithoutCancel(ctx), e.admissionRecord(ctx, s, r, d, 0))
	}
}

// refusedBy is the deny that an error tells of; the zero value where it is none.
func refusedBy(err error) (d permission.Decision) {
	if CodeOf(err) != PermissionDenied {
		return d
	}
	typed, _ := errors.AsType[*Error](err)
	return permission.Decision{Effect: permission.Deny, Rule: ruleIn(typed.Message), Reason: typed.Message, By: "engine"}
}

// recordRefusedAnswer records what became of an answer that was judged, and what
// plugins said of it. Of what was filled into a form nothing is shown, nor what
// anybody said who saw it.
func (s *Session) recordRefusedAnswer(ctx context.Context, a Answer, q permission.Question, v permission.Verdict, err error) {
	d := refusedBy(err)
	if d.Effect != permission.Deny {
		return
	}
	if j := v.Judged; j != nil {
		d.DecisionID, d.Plugins = j.DecisionID, j.Plugins
		if j.Rule == d.Rule { // else it is refused for something else
			d.By, d.Layer, d.Rules = j.By, j.Layer, j.Rules
		}
		if q.Request.Door == permission.DoorForm {
			d.Reason, d.Plugins = "an answer to a form was refused", wordless(j.Plugins)
		}
	}
	s.engine.recordRefused(ctx, s, answerRefused(a, q), d)
}

// ruleIn is the rule that the text of a refusal names.
func ruleIn(text string) string {
	_, after, _ := strings.Cut(text, "refused by rule ")
	rule, _, _ := strings.Cut(after, ":")
	return clip(rule)
}

// answerRefused is the request of an answer that was refused.
func answerRefused(a Answer, q permission.Question) admission.Request {
	return admission.Request{Action: admission.Answer, Approval: admission.Approval{
		RequestID: q.ID, Tool: q.Request.Tool, Effect: effectWord(a.Allow), InputChanged: len(a.UpdatedInput) > 0, Approver: a.Approver,
	}}
}

func (e *Engine) admissionRecord(ctx context.Context, s *Session, r admission.Request, d permission.Decision, took time.Duration) audit.Record {
	raw, shown := sent(r)
	if !bytes.Equal(raw, shown) {
		d = withoutPluginWords(d) // they saw what is never shown
	}
	effect := permission.Deny
	if d.Effect == permission.Allow {
		effect = permission.Allow
	}
	c := func(p event.Payload) (json.RawMessage, []event.Redaction, bool) {
		return event.Redact(context.WithoutCancel(ctx), e.o.Redactors, p)
	}
	if s != nil {
		c = s.auditCover()
	}
	given := recordTexts{Tool: r.Approval.Tool, Rule: d.Rule, Rules: d.Rules, Reason: d.Reason, Errors: pluginErrors(d.Plugins), Input: shown}
	t, excerpt := given.covered(c, r.Approval.Tool)
	rec := audit.Record{
		Kind: audit.Admission, Action: string(r.Action), Cwd: r.Cwd, Session: r.SessionID, Principal: principal(callerOf(ctx)),
		Verdict:    &audit.Verdict{ID: d.DecisionID, Effect: effect.String(), Rule: t.Rule, Reason: t.Reason, Rules: t.Rules, Changed: r.Approval.InputChanged},
		By:         decidedBy("policy", d),
		Policy:     policies(admissionPackage, d),
		Plugins:    auditedPlugins(d.Plugins, t.Errors),
		EvalMicros: took.Microseconds(), RequestID: r.Approval.RequestID,
	}
	if raw != nil {
		rec.Input = &audit.Input{Raw: raw, Excerpt: excerpt}
	}
	if r.Action == admission.Answer {
		rec.Detail = auditDetail(map[string]any{"effect": r.Approval.Effect, "approver": r.Approval.Approver, "tool": t.Tool})
	}
	if r.Action == admission.Configure {
		rec.Detail = e.configureDetail(textOf(r.Parameters["action"]))
	}
	if s != nil {
		s.stamp(&rec)
		rec.ShownDigest = s.refer(r.Approval.RequestID).shown
	}
	return rec
}

// sent is what a caller sent, whole for its digest, and without what is never
// shown: values of variables and headers, arguments and addresses of servers as
// far as they carry credentials, and what was filled into a form.
func sent(r admission.Request) (whole, shown json.RawMessage) {
	members := maps.Clone(r.Parameters)
	if members == nil {
		members = make(map[string]json.RawMessage)
	}
	add := func(name string, v any, given bool) {
		if raw, err := plainJSON(v); given && err == nil {
			members[name] = raw
		}
	}
	a := r.Approval
	add("updatedInput", a.UpdatedInput, len(a.UpdatedInput) > 0)
	add("updatedPermissions", a.PermissionUpdates, len(a.PermissionUpdates) > 0)
	add("server", r.Server, r.Server.Name != "")
	add("sensitive", true, r.Sensitive)
	if len(members) == 0 {
		return nil, nil
	}
	whole, err := plainJSON(members)
	if err != nil {
		return nil, nil // cannot happen: they were decoded
	}
	for name, raw := range members {
		members[name] = withoutCredentials(name, raw)
	}
	if shown, err = plainJSON(members); err != nil {
		shown = nil
	}
	return whole, shown
}

// neverShown stands for what no record shows.
const neverShown = "[withheld]"

// mayDefine are the members of a request that can define MCP servers.
var mayDefine = []string{"agents", "mcpServers", "server", "sandbox"}

// credentials are members that are never shown.
var credentials = []string{"env", "headers", "resumeToken"}

func withoutCredentials(name string, raw json.RawMessage) json.RawMessage {
	var v any
	switch {
	case strings.HasPrefix(name, "env.") || slices.Contains(credentials, name):
		v = neverShown
	case !slices.Contains(mayDefine, name):
		return raw
	case json.Unmarshal(raw, &v) != nil:
		v = neverShown
	default:
		v = hidden(v)
	}
	out, err := plainJSON(v)
	if err != nil {
		return json.RawMessage(`"` + neverShown + `"`)
	}
	return out
}

// hidden is a value without the credentials of servers at any depth.
func hidden(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch strings.ToLower(name) {
			case "env", "headers", "args", "headershelper", "oauth":
				v[name] = neverShown
			case "url":
				v[name] = plainAddress(member)
			default:
				v[name] = hidden(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = hidden(v[i])
		}
	}
	return v
}

// plainAddress is a URL without name, password, query and fragment.
func plainAddress(v any) any {
	text, ok := v.(string)
	if !ok {
		return neverShown
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return neverShown
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}
