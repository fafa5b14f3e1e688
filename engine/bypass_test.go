package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// aBypassed is a session of mode bypassPermissions, which is enabled, under one
// decision for all calls.
func aBypassed(t *testing.T, d permission.Decision, change func(*Options)) (*process, *fakeLog) {
	t.Helper()
	log := &fakeLog{}
	p := aSession(t, log, func(o *Options) {
		o.Deciders = []permission.Decider{&scriptedRules{decision: d}}
		if change != nil {
			change(o)
		}
	}).inMode(modeBypass)
	if b := p.configured(t, enableBypass); !b.Enabled {
		t.Fatalf("bypass = %+v", b)
	}
	return p, log
}

// TestLiftedAsk: what runs, and what an auditor and a client see of it.
func TestLiftedAsk(t *testing.T) {
	p, log := aBypassed(t, anAsk(func(d *permission.Decision) {
		d.Obligations, d.Labels = []permission.Obligation{{Kind: "log_full"}}, map[string]string{"data": "out"}
		d.DecisionID, d.AgentMessage = "d-1", "ask first"
	}), nil)
	until := p.configured(t, getConfig).Until
	answer := <-p.begin(askFor("Bash", `{"command":"git push"}`))
	if !lets(answer) || !strings.Contains(answer, `"updatedInput":{"command":"git push"}`) || strings.Contains(answer, "updatedPermissions") {
		t.Fatalf("answer = %s", answer)
	}
	found := log.of(audit.Decision)
	if len(found) != 1 {
		t.Fatalf("%d records", len(found))
	}
	v := found[0].Verdict
	if v.Effect != "allow" || v.Rule != ruleBypass || found[0].By.Kind != byBypass || v.ID != "d-1" {
		t.Errorf("verdict %+v by %+v", v, found[0].By)
	}
	if !slices.Equal(v.Rules, []string{"ask:git.push", "allow:engine.bypass"}) || !slices.Equal(v.Obligations, []string{"log_full"}) {
		t.Errorf("rules %q, obligations %q", v.Rules, v.Obligations)
	}
	if !strings.Contains(v.Reason, "git.push asks: it publishes") || !strings.Contains(v.Reason, stamp(until)) {
		t.Errorf("reason = %q", v.Reason)
	}
	if told := dumpOf(p.session); !strings.Contains(told, `"behavior":"allow","source":"bypass","rule":"engine.bypass"`) || !strings.Contains(told, `"rules":["ask:git.push","allow:engine.bypass"]`) {
		t.Errorf("events:\n%s", told)
	}
	if who := approverOf(byBypass); who != "" {
		t.Errorf("policies of tools in this process are told that %s answered", who)
	}
	if taint := p.session.facts().Taint; !slices.Equal(taint, []string{"data:out"}) {
		t.Errorf("taint = %q", taint)
	}
}

// TestWhatTheBypassLeaves: each row is one thing that stays as it was.
func TestWhatTheBypassLeaves(t *testing.T) {
	const asked, denied = "asked", `"behavior":"deny"`
	effect := func(e permission.Effect) func(*permission.Decision) {
		return func(d *permission.Decision) { d.Effect = e }
	}
	for _, row := range []struct {
		name   string
		tool   string
		change func(*permission.Decision)
		want   string
	}{
		{"a deny", "Bash", effect(permission.Deny), denied},
		{"a halt", "Bash", effect(permission.Halt), denied},
		{"a person has to answer", "Bash", func(d *permission.Decision) { d.Ask.Approver = approverHuman }, asked},
		{"a group has to answer", "Bash", func(d *permission.Decision) { d.Ask.Approvers = []string{approverClient} }, asked},
		{"nobody may answer", "Bash", func(d *permission.Decision) { d.Ask.Approvers = []string{} }, denied},
		{"two have to answer", "Bash", func(d *permission.Decision) { d.Ask.Quorum = 2 }, asked},
		{"the organisation asks", "Bash", func(d *permission.Decision) { d.Layer, d.Asking = "org", []string{"org:git.push"} }, asked},
		{"the organisation asks too", "Bash", func(d *permission.Decision) { d.Asking = append(d.Asking, "org:push") }, asked},
		{"a plugin asks", "Bash", func(d *permission.Decision) { d.By, d.Rule = "plugin", "plugin.watch" }, asked},
		{"a plugin asks too", "Bash", func(d *permission.Decision) { d.Rules = append(d.Rules, "ask:plugin.watch") }, asked},
		{"the engine asks", "Bash", func(d *permission.Decision) { d.Rule, d.By = "engine.modify_conflict", "engine" }, asked},
		{"the engine asks too", "Bash", func(d *permission.Decision) { d.Rules = append(d.Rules, "ask:engine.modify_conflict") }, asked},
		{"a changed input", "Bash", func(d *permission.Decision) { d.UpdatedInput = json.RawMessage(`{"command":"x"}`) }, asked},
		{"a question of the model", "AskUserQuestion", nil, asked},
		{"a plan", "ExitPlanMode", nil, asked},
		{"a tool of the name of forms", formTool, nil, asked},
		{"an obligation that cannot be met", "Bash", func(d *permission.Decision) { d.Obligations = []permission.Obligation{{Kind: "sandbox"}} }, denied},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, log := aBypassed(t, anAsk(row.change), nil)
			got := p.outcomeOf(t, askFor(row.tool, `{"command":"git push"}`))
			if lets(got) || !strings.Contains(got, row.want) {
				t.Errorf("got %s, want %s", got, row.want)
			}
			for _, r := range log.of(audit.Decision) {
				if r.Verdict.Effect == "allow" || r.Verdict.Rule == ruleBypass {
					t.Errorf("record %+v by %+v", r.Verdict, r.By)
				}
			}
		})
	}
}

// TestDefaultIsLifted: that no rule allows a call is a question like others.
func TestDefaultIsLifted(t *testing.T) {
	p, log := aBypassed(t, permission.Decision{}, nil)
	if a := <-p.begin(askFor("Bash", `{"command":"x"}`)); !lets(a) {
		t.Fatalf("answer = %s", a)
	}
	if v := log.of(audit.Decision)[0].Verdict; !slices.Equal(v.Rules, []string{"ask:engine.default", "allow:engine.bypass"}) {
		t.Errorf("rules = %q", v.Rules)
	}
}

func TestAllowsAreNotTheBypass(t *testing.T) {
	p, log := aBypassed(t, anAsk(func(d *permission.Decision) { d.Effect, d.Rule = permission.Allow, "team.tests" }), nil)
	if a := <-p.begin(askFor("Bash", `{"command":"x"}`)); !lets(a) {
		t.Fatalf("answer = %s", a)
	}
	if r := log.of(audit.Decision)[0]; r.Verdict.Rule != "team.tests" || r.By.Kind != "policy" {
		t.Errorf("record %+v by %+v", r.Verdict, r.By)
	}
}

// TestOtherModesAsk: only sessions of the mode itself, and not while they plan.
func TestOtherModesAsk(t *testing.T) {
	for _, mode := range []string{modeDefault, modeEdits, modePlan, modeDelegate, "bypasspermissions", ""} {
		p, _ := aBypassed(t, anAsk(nil), nil)
		if got := p.inMode(mode).outcomeOf(t, askFor("Bash", `{}`)); got != "asked" {
			t.Errorf("mode %q: %s", mode, got)
		}
	}
}

// TestOtherDoors: forms, mentions and the hook know no bypass.
func TestOtherDoors(t *testing.T) {
	p, _ := aBypassed(t, anAsk(nil), nil)
	if got := p.outcomeOf(t, formFor("Who are you?")); got != "asked" {
		t.Errorf("form: %s", got)
	}
	if got := <-p.begin(promptFor("look at @secret.txt")); !strings.Contains(got, `"decision":"block"`) || !strings.Contains(got, "git.push") {
		t.Errorf("mention: %s", got)
	}
	if got := <-p.begin(hookFor("Bash", `{"command":"git push"}`)); !strings.Contains(got, `"permissionDecision":"ask"`) {
		t.Errorf("hook: %s", got)
	}
}

// asPlugin says one thing of every call.
type asPlugin permission.Annotation

func (a asPlugin) Annotate(context.Context, permission.Request) []permission.Annotation {
	return []permission.Annotation{permission.Annotation(a)}
}
func (asPlugin) Revision() string { return "p1" }

// TestPluginsAreNotBypassed: neither what binds nor what a policy was only told.
func TestPluginsAreNotBypassed(t *testing.T) {
	for name, row := range map[string]struct {
		says permission.Annotation
		want string
	}{
		"binding ask":  {permission.Annotation{Plugin: "w", Verdict: permission.Ask, Binding: true}, "asked"},
		"ask":          {permission.Annotation{Plugin: "w", Verdict: permission.Ask}, "asked"},
		"deny":         {permission.Annotation{Plugin: "w", Verdict: permission.Deny}, "asked"},
		"binding deny": {permission.Annotation{Plugin: "w", Verdict: permission.Deny, Binding: true}, `"behavior":"deny"`},
		"failure":      {permission.Annotation{Plugin: "w", Verdict: permission.Ask, Error: "trap"}, "asked"},
		"pass":         {permission.Annotation{Plugin: "w"}, `"behavior":"allow"`},
	} {
		p, _ := aBypassed(t, anAsk(nil), func(o *Options) { o.Annotators = []permission.Annotator{asPlugin(row.says)} })
		if got := p.outcomeOf(t, askFor("Bash", `{"command":"x"}`)); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// TestUnattendedStaysDenied: where nobody can answer, nobody has said yes.
func TestUnattendedStaysDenied(t *testing.T) {
	p, _ := aBypassed(t, anAsk(nil), func(o *Options) { o.Unattended = true })
	if got := p.outcomeOf(t, askFor("Bash", `{}`)); !strings.Contains(got, `"behavior":"deny"`) {
		t.Errorf("got %s", got)
	}
}

// TestUnrecordedLift: what cannot be written down does not run.
func TestUnrecordedLift(t *testing.T) {
	p, log := aBypassed(t, anAsk(nil), nil)
	log.fail = func(r audit.Record) error {
		if r.Kind == audit.Decision {
			return context.DeadlineExceeded
		}
		return nil
	}
	if got := p.outcomeOf(t, askFor("Bash", `{}`)); !strings.Contains(got, ruleAudit) || lets(got) {
		t.Errorf("got %s", got)
	}
}

// TestBypassIsNoGrant: an ask that was lifted says nothing about later ones.
func TestBypassIsNoGrant(t *testing.T) {
	p, _ := aBypassed(t, anAsk(func(d *permission.Decision) { d.Ask.Scope = "session" }), nil)
	if a := <-p.begin(askFor("Bash", `{"command":"x"}`)); !lets(a) {
		t.Fatalf("answer = %s", a)
	}
	p.configured(t, disableBypass)
	if got := p.outcomeOf(t, askFor("Bash", `{"command":"x"}`)); got != "asked" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestTheCLIKnowsNothing: nothing it is told is another for the mode.
func TestTheCLIKnowsNothing(t *testing.T) {
	said := map[string]string{}
	for _, mode := range []string{modeDefault, modeBypass} {
		p, _ := aBypassed(t, anAsk(nil), nil)
		p.inMode(mode)
		args, err := p.session.args(launch{}, "")
		if err != nil {
			t.Fatal(err)
		}
		said[mode] = strings.NewReplacer(p.session.id, "ID", p.session.cwd, "CWD").Replace(strings.Join(args, "\n"))
	}
	if said[modeDefault] != said[modeBypass] || !strings.Contains(said[modeBypass], "--permission-mode\ndefault") || !strings.Contains(said[modeBypass], `"disableBypassPermissionsMode":"disable"`) {
		t.Errorf("a session of another mode: %s\nof this one: %s", said[modeDefault], said[modeBypass])
	}
}

// TestNoRoadIntoTheMode: neither the CLI's word nor an answer leads into it.
func TestNoRoadIntoTheMode(t *testing.T) {
	p, _ := aBypassed(t, anAsk(nil), nil)
	s := p.inMode(modeDefault).session
	s.followMode(modeBypass)
	if mode := s.facts().Mode; mode != modeDefault {
		t.Errorf("the CLI led to %s", mode)
	}
	id, out := p.asking(t, askFor("Bash", `{}`))
	answer := Answer{RequestID: id, Allow: true, UpdatedPermissions: json.RawMessage(`[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`)}
	if err := s.Answer(t.Context(), answer); CodeOf(err) != PermissionDenied {
		t.Errorf("answer: %v", err)
	}
	if err := s.Answer(t.Context(), Answer{RequestID: id}); err != nil {
		t.Fatal(err)
	}
	<-out
	if mode := s.facts().Mode; mode != modeDefault {
		t.Errorf("an answer led to %s", mode)
	}
}

// TestNarrowedWhileJudged: an answer that ends the mode ends it for calls that are
// being judged, too.
func TestNarrowedWhileJudged(t *testing.T) {
	for _, mode := range []string{modeDefault, modePlan} {
		p, _ := aBypassed(t, anAsk(nil), nil)
		s := p.session
		r := s.request(permission.DoorAsk, "Bash", "t1", "", "", json.RawMessage(`{}`))
		d := anAsk(func(d *permission.Decision) { d.Revision = s.engine.chain.Revision() })
		if _, lifted := s.lift(r, d); !lifted {
			t.Fatal("not lifted in the mode")
		}
		s.mu.Lock()
		s.setModeLocked(mode)
		s.mu.Unlock()
		if _, lifted := s.lift(r, d); lifted {
			t.Errorf("lifted in mode %s", mode)
		}
	}
}

// TestModeBesideItsWord: a Go caller whose raw parameters say another mode.
func TestModeBesideItsWord(t *testing.T) {
	p := aSession(t, &fakeLog{}, func(o *Options) {
		o.Executable = "/no/such/claude"
		o.Admission = []admission.Decider{configureRule(nil)}
	})
	raw := oneMember("permissionMode", modeDefault)
	_, err := p.session.engine.Start(t.Context(), StartParams{Prompt: "go", PermissionMode: modeBypass, Raw: raw})
	if CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), ruleBypass) {
		t.Errorf("started: %v", err)
	}
	if textOf(raw["permissionMode"]) != modeDefault {
		t.Error("the caller's own map was changed")
	}
}

// TestLiftsOfControlRequests: a request that could be read in two ways has no
// lifted one among them.
func TestLiftsOfControlRequests(t *testing.T) {
	p, _ := aBypassed(t, anAsk(nil), nil)
	for name, r := range map[string]control.Request{
		"no input": {Subtype: "can_use_tool", Fields: oneMember("tool_name", "Bash")},
		"no tool":  {Subtype: "can_use_tool", Fields: oneMember("input", map[string]string{})},
	} {
		if got := p.outcomeOf(t, r); lets(got) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// byMode allows calls in mode acceptEdits and asks in others, and denies what answers
// forbade.
type byMode struct{}

func (byMode) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Ask, Rule: "test.asks", By: "policy", Revision: "r7"}
	switch {
	case slices.Contains(r.Session.DisallowedTools, r.Tool):
		d.Effect, d.Rule = permission.Deny, "test.forbidden"
	case r.Session.Mode == modeEdits:
		d.Effect, d.Rule = permission.Allow, "test.edits"
	}
	return d, nil
}
func (byMode) Revision() string { return "r7" }

// TestNarrowedBetweenTheDoors: a call that came by the hook before an answer narrowed
// the session is judged by what holds at its second door.
func TestNarrowedBetweenTheDoors(t *testing.T) {
	for narrowing, want := range map[string]string{
		``: `"behavior":"allow"`,
		`[{"type":"setMode","mode":"default","destination":"session"}]`:                                 "asked",
		`[{"type":"setMode","mode":"plan","destination":"session"}]`:                                    "asked",
		`[{"type":"addRules","behavior":"deny","rules":[{"toolName":"Edit"}],"destination":"session"}]`: "test.forbidden",
	} {
		p := aSession(t, &fakeLog{}, func(o *Options) { o.Deciders = []permission.Decider{byMode{}} }).inMode(modeEdits)
		<-p.begin(hookFor("Edit", `{"file_path":"x"}`))
		p.session.follow(json.RawMessage(narrowing))
		r := askFor("Edit", `{"file_path":"x"}`)
		delete(r.Fields, "agent_id")
		if got := p.outcomeOf(t, r); !strings.Contains(got, want) {
			t.Errorf("after %s: %s, want %s", narrowing, got, want)
		}
	}
}
