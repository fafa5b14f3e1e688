package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// TestBypassExpires: by the clock alone, with nobody there to end it, and anew where
// it is enabled again.
func TestBypassExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := aBypassed(t, anAsk(nil), nil)
		lifted := func(want bool) {
			t.Helper()
			if got := lets(p.outcomeOf(t, askFor("Bash", `{}`))); got != want {
				t.Fatalf("lifted %v, want %v", got, want)
			}
		}
		lifted(true)
		time.Sleep(DefaultBypassTTL - time.Second)
		lifted(true)
		if b := p.configured(t, enableBypass); time.Until(b.Until) != DefaultBypassTTL {
			t.Fatalf("it ends in %s", time.Until(b.Until))
		}
		time.Sleep(DefaultBypassTTL - time.Second)
		lifted(true)
		time.Sleep(time.Second)
		lifted(false)
		lifted(false)
		if b := p.configured(t, getConfig); b != (Bypass{}) {
			t.Fatalf("afterwards: %+v", b)
		}
		if n := strings.Count(dumpOf(p.session), "the bypass has ended"); n != 1 {
			t.Errorf("its end was told %d times", n)
		}
		p.configured(t, enableBypass)
		lifted(true)
	})
}

// TestMemoCarriesNoLift: a call that came by the hook while it held asks after.
func TestMemoCarriesNoLift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []func(*process){
			func(p *process) { p.configured(t, disableBypass) },
			func(*process) { time.Sleep(DefaultBypassTTL) },
		} {
			p, _ := aBypassed(t, anAsk(nil), nil)
			<-p.begin(hookFor("Bash", `{"command":"x"}`))
			r := askFor("Bash", `{"command":"x"}`)
			delete(r.Fields, "agent_id") // the hook's call has none
			end(p)
			if got := p.outcomeOf(t, r); got != "asked" {
				t.Errorf("got %s", got)
			}
		}
	})
}

// TestMemoIsLifted: the same call while it holds.
func TestMemoIsLifted(t *testing.T) {
	p, log := aBypassed(t, anAsk(nil), nil)
	<-p.begin(hookFor("Bash", `{"command":"x"}`))
	r := askFor("Bash", `{"command":"x"}`)
	delete(r.Fields, "agent_id")
	if got := p.outcomeOf(t, r); !lets(got) {
		t.Errorf("got %s", got)
	}
	if n := len(log.of(audit.Decision)); n != 1 || p.session.facts().Asks != 1 {
		t.Errorf("%d records, %d asks", n, p.session.facts().Asks)
	}
}

func TestDisabledInMidSession(t *testing.T) {
	p, _ := aBypassed(t, anAsk(nil), nil)
	for range 2 {
		if got := p.outcomeOf(t, askFor("Bash", `{}`)); !lets(got) {
			t.Fatalf("while enabled: %s", got)
		}
		if b := p.configured(t, disableBypass); b.Enabled {
			t.Fatalf("disabled: %+v", b)
		}
		if got := p.outcomeOf(t, askFor("Bash", `{}`)); got != "asked" {
			t.Fatalf("when disabled: %s", got)
		}
		p.configured(t, enableBypass)
	}
	if told := dumpOf(p.session); strings.Count(told, "the bypass was disabled") != 2 {
		t.Errorf("events:\n%s", told)
	}
}

// TestOtherPoliciesEndIt: what was enabled under some policies is not under others,
// not even when the first ones come back.
func TestOtherPoliciesEndIt(t *testing.T) {
	revision := "r1"
	p, _ := aBypassed(t, permission.Decision{}, func(o *Options) {
		o.Deciders = []permission.Decider{&scriptedRules{decision: anAsk(nil), revision: &revision}}
	})
	for _, now := range []string{"r2", "r1"} {
		revision = now
		if got := p.outcomeOf(t, askFor("Bash", `{}`)); got != "asked" {
			t.Errorf("under %s: %s", now, got)
		}
	}
	if b := p.configured(t, enableBypass); !b.Enabled {
		t.Errorf("enabled again: %+v", b)
	}
}

// configureRule decides about configure alone.
type configureRule func(action string) (permission.Decision, error)

func (f configureRule) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if r.Action == admission.Configure {
		return f(textOf(r.Parameters["action"]))
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
}

func TestConfigureIsAdmitted(t *testing.T) {
	for action := range map[string]bool{enableBypass: true, disableBypass: true, getConfig: true} {
		for _, allowed := range []bool{true, false} {
			p, log := aBypassed(t, anAsk(nil), nil)
			p.session.engine.o.Admission = []admission.Decider{configureRule(func(string) (permission.Decision, error) {
				if allowed {
					return permission.Decision{Effect: permission.Allow, Rule: "test.allow"}, nil
				}
				return permission.Decision{Effect: permission.Deny, Rule: "test.deny", Reason: "not here"}, nil
			})}
			ctx := WithCaller(t.Context(), permission.Caller{Client: "other"})
			b, err := p.session.engine.Configure(ctx, action)
			if (err == nil) != allowed || err != nil && (CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), "test.deny: not here")) {
				t.Errorf("%s: %v", action, err)
			}
			if want := action != disableBypass && (allowed || action != getConfig) || action == disableBypass && !allowed; b.Enabled != want {
				t.Errorf("%s, admitted %v: told %+v", action, allowed, b)
			}
			if stands := p.session.engine.bypassed().Enabled; stands != (action != disableBypass || !allowed) {
				t.Errorf("%s, admitted %v: stands %v", action, allowed, stands)
			}
			found := log.of(audit.Admission)
			r := found[len(found)-1]
			if len(found) != 2 || r.Action != "configure" || (r.Verdict.Effect == "allow") != allowed || r.Principal.Client != "other" || !strings.Contains(string(r.Detail), action) {
				t.Errorf("%s: %+v %+v %s", action, r, r.Verdict, r.Detail)
			}
			if timed := strings.Contains(string(r.Detail), `"ttl_s":900`); timed != (action == enableBypass) {
				t.Errorf("%s: detail %s", action, r.Detail)
			}
		}
	}
}

func TestConfigureOfAnotherWord(t *testing.T) {
	p := aSession(t, &fakeLog{}, nil)
	for _, action := range []string{"", "enable", "ENABLE_BYPASS", "enable_bypass\n"} {
		if b, err := p.session.engine.Configure(t.Context(), action); CodeOf(err) != InvalidArgument || b.Enabled {
			t.Errorf("%q: %+v, %v", action, b, err)
		}
	}
}

// TestDisablingNeedsNoPolicy: what cannot be judged or recorded enables nothing, and
// ends it all the same.
func TestDisablingNeedsNoPolicy(t *testing.T) {
	broken := configureRule(func(string) (permission.Decision, error) { return permission.Decision{}, errors.New("broken") })
	slow := configureRule(func(string) (permission.Decision, error) {
		return permission.Decision{Effect: permission.Deny, Rule: "engine.timeout", Reason: "too slow"}, nil
	})
	for name, row := range map[string]struct {
		rule admission.Decider
		log  error
	}{"no judgement": {broken, nil}, "no time": {slow, nil}, "no log": {nil, errors.New("full")}} {
		p, log := aBypassed(t, anAsk(nil), nil)
		e := p.session.engine
		if row.rule != nil {
			e.o.Admission = []admission.Decider{row.rule}
		}
		log.fail = func(audit.Record) error { return row.log }
		if b, err := e.Configure(t.Context(), disableBypass); err != nil || b.Enabled {
			t.Errorf("%s: disabling: %+v, %v", name, b, err)
		}
		if b, err := e.Configure(t.Context(), enableBypass); err == nil || b.Enabled || e.bypassed().Enabled {
			t.Errorf("%s: enabling: %+v, %v", name, b, err)
		}
	}
}

// TestDisabledMeanwhile: of an enabling and a disabling at once, the disabling holds.
func TestDisabledMeanwhile(t *testing.T) {
	p, log := aBypassed(t, anAsk(nil), nil)
	e := p.session.engine
	e.o.Admission = []admission.Decider{configureRule(func(action string) (permission.Decision, error) {
		if action == enableBypass {
			if _, err := e.Configure(t.Context(), disableBypass); err != nil {
				t.Error(err)
			}
		}
		return permission.Decision{Effect: permission.Allow, Rule: "test.allow"}, nil
	})}
	if b, err := e.Configure(t.Context(), enableBypass); CodeOf(err) != PermissionDenied || b.Enabled || e.bypassed().Enabled {
		t.Errorf("enabled: %+v, %v", b, err)
	}
	found := log.of(audit.Admission)
	if r := found[len(found)-1]; r.Verdict.Effect != "deny" || r.Verdict.Rule != ruleBypass {
		t.Errorf("the last record: %+v", r.Verdict)
	}
}

// TestStartInTheMode: while it is not enabled no session begins in it, whatever the
// policies say, and they see the mode however it was chosen.
func TestStartInTheMode(t *testing.T) {
	var seen []string
	p := aSession(t, &fakeLog{}, func(o *Options) {
		o.Executable = "/no/such/claude"
		o.Admission = []admission.Decider{admission.DeciderFunc(func(_ context.Context, r admission.Request) (permission.Decision, error) {
			if r.Action == admission.Start {
				seen = append(seen, textOf(r.Parameters["permissionMode"])+" "+map[bool]string{true: "enabled"}[r.Bypass.Enabled])
			}
			return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
		})}
	})
	e := p.session.engine
	for _, raw := range []map[string]json.RawMessage{nil, {}, oneMember("prompt", "go"), oneMember("permissionMode", modeBypass)} {
		_, err := e.Start(t.Context(), StartParams{Prompt: "go", PermissionMode: modeBypass, Raw: raw})
		if CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), ruleBypass) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	p.configured(t, enableBypass)
	if _, err := e.Start(t.Context(), StartParams{Prompt: "go", PermissionMode: modeBypass}); CodeOf(err) == PermissionDenied {
		t.Errorf("while enabled: %v", err)
	}
	if want := strings.Repeat("bypassPermissions ;", 4) + "bypassPermissions enabled"; strings.Join(seen, ";") != want {
		t.Errorf("policies saw %q", seen)
	}
}

func TestBypassTTLIsBounded(t *testing.T) {
	for ttl, ok := range map[time.Duration]bool{-1: false, 0: true, time.Second: true, MaxBypassTTL: true, MaxBypassTTL + 1: false} {
		e, err := New(Options{Roots: []string{t.TempDir()}, BypassTTL: ttl})
		if (err == nil) != ok {
			t.Errorf("%s: %v", ttl, err)
		}
		if err == nil {
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBypassAtOnce: calls, enablings and disablings beside each other, for the race
// detector; after the last disabling nothing is lifted.
func TestBypassAtOnce(t *testing.T) {
	p, _ := aBypassed(t, anAsk(nil), func(o *Options) { o.ApprovalTimeout = time.Millisecond })
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 50 {
				<-p.begin(askFor("Bash", `{}`))
			}
		})
		work.Go(func() {
			for range 50 {
				p.session.engine.Configure(t.Context(), enableBypass)
				p.session.engine.Configure(t.Context(), disableBypass)
			}
		})
	}
	work.Wait()
	if a := <-p.begin(askFor("Bash", `{}`)); lets(a) || p.session.engine.bypassed().Enabled {
		t.Errorf("afterwards: %s", a)
	}
}
