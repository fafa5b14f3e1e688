package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// An MCP server of the session can ask for a form (MCP elicitation). Policy
// judges the request like a call of a tool named Elicitation. It can refuse, but
// cannot fill a form, so an allow asks all the same.

// formTool is the name policies see.
const formTool = "Elicitation"

// formAnswer is what the CLI hands on to the server, in MCP's words: decline is
// an explicit no, cancel is no choice at all.
type formAnswer struct {
	Action  string          `json:"action"` // "accept", "decline" or "cancel"
	Content json.RawMessage `json:"content,omitempty"`

	permit permit
}

// formRecord is the payload of a form's permission_result event. What was
// filled in stays out of it.
type formRecord struct {
	permissionRecord
	Action string   `json:"action"`
	Filled []string `json:"filled,omitempty"` // names of the properties that were sent
}

// elicit holds the server's request until it is answered.
func (p *process) elicit(ctx context.Context, r control.Request) any {
	s := p.session
	form, err := readForm(r)
	req := s.request(permission.DoorForm, formTool, "", "", "", form.input())
	d := s.judgeForm(ctx, req, err)
	if d.Effect >= permission.Deny {
		return p.decline(ctx, req, d)
	}
	q, err := s.open(req, d)
	if err != nil {
		return p.decline(ctx, req, s.overflow(d, err))
	}
	defer s.toldOf(q)
	ref := s.refer(q.ID)
	v := p.await(ctx, q)
	return p.formSettled(ctx, req, d, ref, v)
}

// readForm takes the request; on an error the form holds what a record may show.
func readForm(r control.Request) (Form, error) {
	f := Form{Server: r.String("mcp_server_name"), Message: r.String("message"), Mode: cmp.Or(r.String("mode"), "form")}
	rest := Form{Server: clip(f.Server), Message: clip(f.Message), Mode: clip(f.Mode)}
	switch f.Mode {
	case "form":
		f.Schema = r.Fields["requested_schema"]
		if len(f.Schema) == 0 {
			f.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
	case "url":
		f.URL = r.String("url")
		if u, err := url.Parse(f.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return rest, fmt.Errorf("url %q: want an http or https address", clip(f.URL))
		}
	default:
		return rest, fmt.Errorf("mode %q is unknown, want form or url", clip(f.Mode))
	}
	if size := len(f.Message) + len(f.Schema) + len(f.URL); size > maxForm || f.Server == "" || len(f.Server) > clipped {
		return rest, fmt.Errorf("%d bytes from server %q: at most %d are taken, from a server with a name", size, clip(f.Server), maxForm)
	}
	if _, err := f.Fields(); err != nil {
		return rest, err
	}
	return f, nil
}

// input is the form as policies and approvers see it.
func (f *Form) input() json.RawMessage {
	m := map[string]any{"mcp_server_name": f.Server, "message": f.Message, "mode": f.Mode}
	if len(f.Schema) > 0 {
		m["requested_schema"] = f.Schema
	}
	if f.URL != "" {
		m["url"] = f.URL
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return json.RawMessage(`{}`) // cannot happen: the schema was decoded
	}
	return raw
}

// formOf is the reverse of Form.input.
func formOf(input json.RawMessage) *Form {
	var m struct {
		Server  string          `json:"mcp_server_name"`
		Message string          `json:"message"`
		Mode    string          `json:"mode"`
		Schema  json.RawMessage `json:"requested_schema"`
		URL     string          `json:"url"`
	}
	if json.Unmarshal(input, &m) != nil {
		return &Form{}
	}
	return &Form{Server: m.Server, Message: m.Message, Mode: m.Mode, Schema: m.Schema, URL: m.URL}
}

func (f *Form) summary() string {
	text := formTool + ": " + visible(f.Server) + " asks: " + visible(f.Message)
	if f.URL != "" {
		text = formTool + ": " + visible(f.Server) + " wants a visit of " + visible(f.URL) + ": " + visible(f.Message)
	}
	return text
}

// judgeForm asks the policies; unusable is why the form cannot be shown, or nil.
func (s *Session) judgeForm(ctx context.Context, r permission.Request, unusable error) permission.Decision {
	if unusable != nil {
		return permission.Decision{
			Effect: permission.Deny, Rule: "engine.form", Reason: unusable.Error(), By: "engine",
			Rules: []string{"deny:engine.form"}, Revision: s.engine.chain.Policies(),
		}
	}
	d := s.judge(ctx, r)
	switch {
	case d.Effect >= permission.Deny:
	case len(d.UpdatedInput) > 0:
		d.Effect, d.Rule, d.By = permission.Deny, "engine.form_changed", "engine"
		d.Reason, d.UpdatedInput = "a policy changed the form, but the server waits for its own", nil
	case d.Effect != permission.Ask && s.engine.o.Unattended:
		d.Effect, d.Reason = permission.Deny, "nobody can answer here, and no policy can fill a form"
	case d.Effect != permission.Ask && s.asksNobody():
		d.Reason = "no policy can fill a form"
		d = unasked(d)
	default:
		d.Effect = permission.Ask
	}
	return d
}

// decline is policy's no.
func (p *process) decline(ctx context.Context, r permission.Request, d permission.Decision) any {
	rec := record(r, d, "deny", "policy", "")
	rec.Interrupt = d.Effect == permission.Halt || p.session.tooManyDenials()
	return p.formRefused(ctx, formRecord{permissionRecord: rec, Action: "decline"})
}

// formSettled turns the verdict on a question into the server's answer. Without
// an explicit choice, such as at the deadline, that is a cancel.
func (p *process) formSettled(ctx context.Context, r permission.Request, d permission.Decision, q questionRef, v permission.Verdict) any {
	if v.Allow {
		return p.formFilled(ctx, r, d, q, v)
	}
	rec := formRecord{permissionRecord: record(r, d, "deny", v.Source, q.id), Action: "cancel"}
	rec.about.shown = q.shown
	if !v.Interrupt && (v.Source == "respond" || v.Source == "human") {
		rec.Action = "decline"
	}
	rec.Message, rec.Interrupt = v.Message, v.Interrupt || p.session.tooManyDenials()
	return p.formRefused(ctx, rec)
}

// formFilled records what is sent, then sends it. Where that cannot be recorded
// the form is left as if nobody had answered.
func (p *process) formFilled(ctx context.Context, r permission.Request, d permission.Decision, q questionRef, v permission.Verdict) any {
	rec := formRecord{permissionRecord: record(r, d, "allow", v.Source, q.id), Action: "accept"}
	rec.Filled = slices.Sorted(maps.Keys(membersOf(v.Input)))
	rec.about.shown, rec.about.action, rec.about.filled = q.shown, rec.Action, len(rec.Filled)
	if len(v.Input) > 0 {
		rec.about.input, rec.about.secret = v.Input, true
	}
	if v.Judged != nil {
		rec.heard(wordless(v.Judged.Plugins)) // they saw what was filled in
	}
	permit, err := p.session.permitted(ctx, &rec)
	if err != nil {
		d = denyUnrecorded(d, err)
		rec := formRecord{permissionRecord: record(r, d, "deny", "policy", q.id), Action: "cancel"}
		rec.Message, rec.about.shown = d.Message(), q.shown
		return p.formRefused(ctx, rec)
	}
	return formAnswer{Action: rec.Action, Content: v.Input, permit: permit}
}

// formRefused records that a form stays empty. The protocol has no interrupt in a
// form's answer, so one is sent beside it.
func (p *process) formRefused(ctx context.Context, rec formRecord) any {
	rec.about.action = rec.Action
	p.session.denied(ctx, &rec)
	if rec.Interrupt {
		p.session.work.Go(p.interrupt) // ends with the CLI's answer or its own time limit
	}
	return formAnswer{Action: rec.Action}
}

func membersOf(object json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return nil
	}
	return m
}
