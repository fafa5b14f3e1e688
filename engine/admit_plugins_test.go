package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestPluginsAdmit(t *testing.T) {
	said := func(a permission.Annotation) func(admission.Request) []permission.Annotation {
		a.Plugin = "ticket"
		return func(admission.Request) []permission.Annotation { return []permission.Annotation{a} }
	}
	secret := aToken()
	for _, c := range []struct {
		name    string
		of      func(admission.Request) []permission.Annotation
		refused bool   // by policy, too
		rule    string // "" = admitted
		reason  string
	}{
		{"pass", said(permission.Annotation{}), false, "", ""},
		{"allow loosens nothing", said(permission.Annotation{Verdict: permission.Allow, Binding: true}), true, "test.refuse", "not here"},
		{"deny", said(permission.Annotation{Verdict: permission.Deny, Binding: true, Reason: "no ticket, " + secret}), false, "plugin.ticket", `no ticket, [REDACTED:`},
		{"deny without binding", said(permission.Annotation{Verdict: permission.Deny, Reason: "no ticket"}), false, "", ""},
		{"ask", said(permission.Annotation{Verdict: permission.Ask, Binding: true, Reason: "no ticket"}), false, "plugin.ticket", "nobody is asked about a %s, and no ticket"},
		{"failure", said(permission.Annotation{Verdict: permission.Deny, Error: "trap"}), false, "plugin.ticket.error", "gave no answer (trap), so its on_error decides"},
		{"failure that is skipped", said(permission.Annotation{Error: "trap"}), false, "", ""},
		{"no verdict of plugins", said(permission.Annotation{Verdict: permission.Halt}), false, "plugin.ticket.error", "verdict 5"},
		{"deny of what policy refuses", said(permission.Annotation{Verdict: permission.Deny, Binding: true}), true, "test.refuse", "not here"},
		{"panic", func(admission.Request) []permission.Annotation { panic("broken") }, false, "engine.panic", ""},
	} {
		for _, action := range annotated {
			log, policy := &fakeLog{}, &admitting{t: t, want: c.name != "panic"}
			p := aSession(t, log, func(o *Options) {
				(&fakePlugins{of: c.of}).use(o)
				o.Admission, o.Redactors = []admission.Decider{policy}, []event.Redactor{realRedactor(t)}
				if c.refused {
					o.Admission = append(o.Admission, refusing(action))
				}
			})
			err := p.session.engine.admit(t.Context(), p.session, admission.Request{Action: action})
			if c.rule == "" && err != nil || c.rule != "" && CodeOf(err) != PermissionDenied {
				t.Errorf("%s, %s: %v", c.name, action, err)
			}
			want := c.reason
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, action)
			}
			if c.rule != "" && (!strings.Contains(err.Error(), "refused by rule "+c.rule+":") || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, %s: %v, want %s: …%s…", c.name, action, err, c.rule, want)
			}
			checkAdmitted(t, c.name, log, c.rule, secret)
		}
	}
}

func checkAdmitted(t *testing.T, name string, log *fakeLog, rule, secret string) {
	t.Helper()
	found := log.of(audit.Admission)
	if len(found) != 1 || rule != "" && found[0].Verdict.Rule != rule || (found[0].Verdict.Effect == "allow") != (rule == "") {
		t.Fatalf("%s: records %+v", name, found)
	}
	if len(found[0].Plugins) != 1 && rule != "engine.panic" {
		t.Errorf("%s: plugins %+v", name, found[0].Plugins)
	}
	if strings.HasPrefix(rule, "plugin.") && (found[0].By.Kind != "plugin" || found[0].By.Name != "ticket") {
		t.Errorf("%s: by %+v", name, found[0].By)
	}
	if strings.Contains(log.whole(t), secret) {
		t.Errorf("%s: the log holds a secret", name)
	}
}

// admitting admits what plugins were heard about.
type admitting struct {
	t    *testing.T
	want bool
}

func (a *admitting) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if (len(r.Annotations) == 1) != a.want {
		a.t.Errorf("%s: annotations %+v", r.Action, r.Annotations)
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
}

func TestPluginsAreNotHeardAboutOtherActions(t *testing.T) {
	heard := 0
	plugins := &fakePlugins{of: func(admission.Request) []permission.Annotation {
		heard++
		return []permission.Annotation{{Plugin: "p", Verdict: permission.Deny, Binding: true}}
	}}
	p := aSession(t, nil, plugins.use)
	for _, action := range []admission.Action{admission.Cancel, admission.List, admission.Answer} {
		if err := p.session.engine.admit(t.Context(), p.session, admission.Request{Action: action}); err != nil || heard > 0 {
			t.Errorf("%s: %v, heard %d times", action, err, heard)
		}
	}
}
