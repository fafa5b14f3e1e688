package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// refusing refuses one action.
type refusing admission.Action

func (r refusing) Admit(_ context.Context, q admission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Allow, Rule: "test.admit", Revision: "r7", By: "policy"}
	if q.Action == admission.Action(r) {
		d.Effect, d.Rule, d.Reason = permission.Deny, "test.refuse", "not here"
	}
	return d, nil
}

// admissions does what is asked for, and gives the error.
func admissions(p *process) map[admission.Action]func(context.Context) error {
	s := p.session
	return map[admission.Action]func(context.Context) error{
		admission.List: func(ctx context.Context) error {
			_, err := s.engine.Sessions(ctx, true)
			return err
		},
		admission.Reply: func(ctx context.Context) error {
			s.mu.Lock()
			s.state = Idle
			s.mu.Unlock()
			_, err := s.Prompt(ctx, ReplyParams{Prompt: "more", Raw: map[string]json.RawMessage{"prompt": json.RawMessage(`"more"`)}})
			return err
		},
		admission.Fork: func(ctx context.Context) error {
			_, err := s.Prompt(ctx, ReplyParams{Prompt: "more", Fork: true})
			return err
		},
		admission.Start: func(ctx context.Context) error {
			_, err := s.engine.Start(ctx, StartParams{Prompt: "go", Env: map[string]string{"TOKEN_OF_IT": "value-of-it"}})
			return err
		},
		admission.Cancel: func(ctx context.Context) error { return s.Cancel(ctx, "enough", "client") },
	}
}

func TestEveryAdmissionIsRecorded(t *testing.T) {
	ctx := WithCaller(t.Context(), permission.Caller{Client: "other", UID: 9})
	for action := range admissions(&process{session: &Session{}}) {
		for _, allowed := range []bool{true, false} {
			log := &fakeLog{}
			p := aSession(t, log, func(o *Options) {
				o.Executable = "/no/such/claude"
				if !allowed {
					o.Admission = []admission.Decider{refusing(action)}
				} else {
					o.Admission = []admission.Decider{refusing("")}
				}
			})
			err := admissions(p)[action](ctx)
			if refused := err != nil && CodeOf(err) == PermissionDenied; refused == allowed {
				t.Errorf("%s: %v", action, err)
			}
			found := log.of(audit.Admission)
			if len(found) != 1 {
				t.Fatalf("%s: %d records", action, len(found))
			}
			r := found[0]
			want := "allow test.admit"
			if !allowed {
				want = "deny test.refuse"
			}
			if r.Action != string(action) || r.Verdict.Effect+" "+r.Verdict.Rule != want || r.Principal.Client != "other" || r.Policy == nil || r.Policy.Package != "gatehouse.admission" {
				t.Errorf("%s: %+v verdict %+v", action, r, r.Verdict)
			}
			if (r.Session == p.session.id) != slices.Contains([]admission.Action{admission.Reply, admission.Fork, admission.Cancel}, action) {
				t.Errorf("%s: of session %q", action, r.Session)
			}
		}
	}
}

func TestUnrecordedAdmissions(t *testing.T) {
	for action := range admissions(&process{session: &Session{}}) {
		log := &fakeLog{fail: func(audit.Record) error { return errors.New("secret path") }}
		p := aSession(t, log, nil)
		err := admissions(p)[action](t.Context())
		if stands := action == admission.List || action == admission.Cancel; stands {
			if err != nil || len(log.of(audit.Admission)) != 1 {
				t.Errorf("%s: %v, %+v", action, err, log.records)
			}
			continue
		}
		if err == nil || CodeOf(err) != Internal || !strings.Contains(err.Error(), ruleAudit) || !strings.Contains(err.Error(), "[audit] dir") || strings.Contains(err.Error(), "secret path") {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestUnrecordedAnswers(t *testing.T) {
	log := &fakeLog{fail: func(r audit.Record) error {
		if r.Kind == audit.Admission {
			return errors.New("no")
		}
		return nil
	}}
	p := aSession(t, log, nil)
	id, out := p.asking(t, askFor("Ask", `{"command":"x"}`))
	if err := p.session.Answer(t.Context(), Answer{RequestID: id, Allow: true}); CodeOf(err) != Internal || !strings.Contains(err.Error(), ruleAudit) {
		t.Errorf("allow: %v", err)
	}
	if len(p.session.Pending()) != 1 {
		t.Error("the question did not stay open")
	}
	if err := p.session.Answer(t.Context(), Answer{RequestID: id}); err != nil {
		t.Errorf("deny: %v", err)
	}
	if a := <-out; lets(a) {
		t.Errorf("answer = %s", a)
	}
}

func TestRefusedAnswersAreRecorded(t *testing.T) {
	for tool, answer := range map[string]Answer{
		"AskHuman": {Allow: true}, // a client's word
		"Ask":      {Allow: true, UpdatedInput: json.RawMessage(`{"command":"forbidden"}`)},
	} {
		log := &fakeLog{}
		p := aSession(t, log, nil)
		id, out := p.asking(t, askFor(tool, `{"command":"x"}`))
		answer.RequestID = id
		if err := p.session.Answer(t.Context(), answer); CodeOf(err) != PermissionDenied {
			t.Fatalf("%s: err = %v", tool, err)
		}
		found := log.of(audit.Admission)
		r := found[len(found)-1]
		if r.Verdict.Effect != "deny" || r.Verdict.Rule != "test."+strings.ToLower(tool) || r.RequestID != id || r.ShownDigest == "" {
			t.Errorf("%s: %+v %+v", tool, r, r.Verdict)
		}
		if err := p.session.Answer(t.Context(), Answer{RequestID: id}); err != nil {
			t.Fatal(err)
		}
		<-out
	}
}

// What an admission's record shows, and what never.
func TestParametersInRecords(t *testing.T) {
	hidden := "hid" + "den-value"
	raw := map[string]json.RawMessage{
		"prompt":      json.RawMessage(`"a <b> & c"`),
		"env.TOKEN":   json.RawMessage(`"` + hidden + `"`),
		"resumeToken": json.RawMessage(`"` + hidden + `"`),
		"mcpServers": json.RawMessage(`{"a":{"command":"run","args":["--token","` + hidden + `"],"env":{"K":"` + hidden + `"}},` +
			`"b":{"type":"http","url":"https://u:` + hidden + `@example.com/p?k=` + hidden + `","headers":{"Authorization":"` + hidden + `"}}}`),
		"agents": json.RawMessage(`{"x":{"prompt":"p","mcpServers":[{"y":{"args":["` + hidden + `"]}}]}}`),
	}
	whole, shown := sent(admission.Request{Action: admission.Start, Parameters: raw})
	if strings.Contains(string(shown), hidden) || !json.Valid(shown) {
		t.Errorf("shown = %s", shown)
	}
	if strings.Count(string(whole), hidden) != 8 {
		t.Errorf("the digest is not of everything: %s", whole)
	}
	for _, want := range []string{`"prompt":"a <b> & c"`, `"env.TOKEN":"[withheld]"`, `"command":"run"`, `"url":"https://example.com/p"`} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("shown lacks %s: %s", want, shown)
		}
	}
	if strings.Contains(string(raw["mcpServers"]), neverShown) {
		t.Error("the caller's parameters were changed")
	}
	if whole, shown = sent(admission.Request{Action: admission.Cancel}); whole != nil || shown != nil {
		t.Errorf("of nothing: %s %s", whole, shown)
	}
}
