package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// skipping refuses what names "bad", and passes by on_error = skip where its call is
// cut off.
type skipping struct{}

func (skipping) say(ctx context.Context, text string) []permission.Annotation {
	a := permission.Annotation{Plugin: "scan"}
	switch {
	case ctx.Err() != nil:
		a.Error = "cancelled"
	case strings.Contains(text, "bad"):
		a.Verdict, a.Binding = permission.Deny, true
	}
	return []permission.Annotation{a}
}

func (s skipping) Annotate(ctx context.Context, r permission.Request) []permission.Annotation {
	return s.say(ctx, string(r.Input))
}

func (s skipping) AnnotateAdmission(ctx context.Context, r admission.Request) []permission.Annotation {
	return s.say(ctx, string(r.Parameters["prompt"]))
}

func (skipping) Revision() string { return "p1" }

func (s skipping) use(o *Options) {
	o.Annotators, o.AdmissionAnnotators = []permission.Annotator{s}, []admission.Annotator{s}
}

// Whoever gives up a request decides by that when its plugins are cut off. So what
// was not heard to its end grants nothing.
func TestGivingUpDoesNotSilencePlugins(t *testing.T) {
	p := aSession(t, nil, skipping{}.use)
	id, answer := p.asking(t, askFor("Ask", `{"command":"good"}`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := p.session.Answer(ctx, Answer{RequestID: id, Allow: true, UpdatedInput: json.RawMessage(`{"command":"bad"}`)})
	if err == nil {
		t.Errorf("the answer counts: %s", <-answer)
		return
	}
	if CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), "engine.cancelled") {
		t.Errorf("answer: %v", err)
	}
	prompt := map[string]json.RawMessage{"prompt": json.RawMessage(`"bad"`)}
	for _, action := range annotated {
		if err := p.session.engine.admit(ctx, p.session, admission.Request{Action: action, Parameters: prompt}); CodeOf(err) != PermissionDenied {
			t.Errorf("%s: %v", action, err)
		}
	}
	if err := p.session.Answer(t.Context(), Answer{RequestID: id}); err != nil {
		t.Error(err)
	}
	<-answer
}

// A plugin sees what is filled into a form, and may repeat it: no event and no
// record tells of it.
func TestPluginsKeepNoForm(t *testing.T) {
	word := "correct" + "horse" + "battery"
	for _, verdict := range []permission.Effect{permission.Abstain, permission.Allow, permission.Deny} {
		repeats := &fakePlugins{says: func(_ string, input []byte) permission.Annotation {
			if !strings.Contains(string(input), word) {
				return permission.Annotation{}
			}
			return permission.Annotation{Verdict: verdict, Binding: true, Reason: "weak: " + string(input), Error: map[bool]string{true: "near " + word}[verdict == permission.Abstain]}
		}}
		log := &fakeLog{}
		p := aSession(t, log, repeats.use)
		id, answer := p.asking(t, formFor("name?"))
		err := p.session.Answer(t.Context(), Answer{RequestID: id, Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"` + word + `"}}`)})
		if denied := verdict == permission.Deny; denied != (err != nil) {
			t.Errorf("%s: answer: %v", verdict, err)
		}
		if err != nil {
			if err := p.session.Answer(t.Context(), Answer{RequestID: id}); err != nil {
				t.Error(err)
			}
		}
		<-answer
		for where, text := range map[string]string{"events": dumpOf(p.session), "audit log": log.whole(t)} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %s: %s", verdict, where, text)
			}
		}
	}
}

// The record of an answer that a plugin refuses says so.
func TestRefusedAnswerIsRecordedWithPlugins(t *testing.T) {
	log := &fakeLog{}
	p := aSession(t, log, skipping{}.use)
	id, answer := p.asking(t, askFor("Ask", `{"command":"good"}`))
	if err := p.session.Answer(t.Context(), Answer{RequestID: id, Allow: true, UpdatedInput: json.RawMessage(`{"command":"bad"}`)}); err == nil {
		t.Error("the answer counts")
	}
	if err := p.session.Answer(t.Context(), Answer{RequestID: id}); err != nil {
		t.Error(err)
	}
	<-answer
	for _, r := range log.of(audit.Admission) {
		if r.Verdict.Effect == "allow" {
			continue
		}
		if r.Verdict.Rule != "plugin.scan" || len(r.Plugins) != 1 || r.Plugins[0].Verdict != "deny" || r.By.Kind != "plugin" || r.By.Name != "scan" {
			t.Errorf("record = %+v, by %+v, verdict %+v", r, r.By, r.Verdict)
		}
		return
	}
	t.Error("no refusal was recorded")
}

// What policies pass on of plugins is covered on its way to the model, and shown.
func TestWhatPoliciesPassOnOfPluginsIsCovered(t *testing.T) {
	secret := aToken()
	passes := decideFunc(func(r permission.Request) (permission.Decision, error) {
		d := permission.Decision{Effect: permission.Allow, Rule: "test.pass", Context: []string{"scan: " + string(r.Annotations[0].Values["digest"]) + secret}}
		if r.Tool == "Deny" {
			d.Effect, d.AgentMessage = permission.Deny, "scan says:\n\u202e"+secret
		}
		return d, nil
	})
	for _, tool := range []string{"Allow", "Deny"} {
		p := aSession(t, nil, func(o *Options) {
			(&fakePlugins{}).use(o)
			o.Deciders, o.Redactors = []permission.Decider{passes}, []event.Redactor{realRedactor(t)}
		})
		answer := p.answered(t, hookFor(tool, `{"a":1}`), nil)
		if strings.Contains(answer, secret) || !strings.Contains(answer, "[REDACTED:") || strings.Contains(answer, "\u202e") {
			t.Errorf("%s: %s", tool, answer)
		}
	}
}

// No plugin makes anything run, by any road, that would not run without it.
func TestPluginsLoosenNoRoad(t *testing.T) {
	answers := map[string]*Answer{
		"nobody": nil, "allow": yes, "deny": no, "human": {Allow: true, Approver: "human"},
		"changed": {Allow: true, UpdatedInput: json.RawMessage(`{"command":"y"}`)}, "forbidden": {Allow: true, UpdatedInput: json.RawMessage(`{"command":"forbidden"}`)},
	}
	for _, tool := range []string{"Allow", "AllowPlain", "Modify", "Ask", "AskHuman", "Deny", "Halt", "Fail"} {
		for name, answer := range answers {
			if tool != "Ask" && tool != "AskHuman" && name != "nobody" && name != "allow" {
				continue
			}
			silent := runs(t, tool, answer, permission.Annotation{})
			for _, verdict := range []permission.Effect{permission.Abstain, permission.Allow, permission.Ask, permission.Deny, permission.Modify, permission.Halt, 99} {
				for _, a := range []permission.Annotation{{Verdict: verdict}, {Verdict: verdict, Binding: true}, {Verdict: verdict, Error: "trap"}} {
					got := runs(t, tool, answer, a)
					if got != "" && got != silent {
						t.Errorf("%s, answer %s, plugin %+v: runs %s, without it %q", tool, name, a, got, silent)
					}
					if a.Verdict == permission.Deny && (a.Binding || a.Error != "") && got != "" {
						t.Errorf("%s, answer %s, plugin %+v: runs %s", tool, name, a, got)
					}
				}
			}
		}
	}
}

// runs is the input that runs in the end; empty: none does.
func runs(t *testing.T, tool string, answer *Answer, says permission.Annotation) string {
	t.Helper()
	p := aSession(t, nil, saying(says).use)
	defer p.session.cancel("enough", "test")
	if tool != "Halt" { // there is no CLI whose turn could be ended
		if first := p.answered(t, hookFor(tool, `{"command":"x"}`), nil); strings.Contains(first, `"permissionDecision":"deny"`) {
			return ""
		}
	}
	ask := askFor(tool, `{"command":"x"}`)
	delete(ask.Fields, "agent_id")
	out := p.begin(ask)
	for len(p.session.Pending()) == 0 {
		select {
		case said := <-out:
			return inputOf(said)
		default:
		}
	}
	a := Answer{}
	if answer != nil {
		a = *answer
	}
	a.RequestID = p.session.Pending()[0].RequestID
	if err := p.session.Answer(t.Context(), a); err != nil {
		if err := p.session.Answer(t.Context(), Answer{RequestID: a.RequestID}); err != nil {
			t.Error(err)
		}
	}
	return inputOf(<-out)
}

func inputOf(answer string) string {
	var a struct {
		Behavior     string          `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
	}
	if json.Unmarshal([]byte(answer), &a) != nil || a.Behavior != "allow" {
		return ""
	}
	return string(a.UpdatedInput)
}

func TestReasonsBeginInAnyScript(t *testing.T) {
	for given, want := range map[string]string{"": "no rule allows the call", "Not here": "not here", "Éa": "Éa", "\xffA": "\xffA"} {
		if got := lowerFirst(given); got != want {
			t.Errorf("lowerFirst(%q) = %q", given, got)
		}
	}
}

// A private key does not lose what it is recognised by when it is made visible.
func TestKeysInReasonsAreCovered(t *testing.T) {
	body := strings.Repeat("MIIEowIBAAKCAQEA"+"x7Jq0Zt9", 12)
	key := fmt.Sprintf("-----BEGIN %s-----\n%s\n%s\n-----END %s-----", "RSA PRIVATE "+"KEY", body[:64], body[64:128], "RSA PRIVATE "+"KEY")
	log := &fakeLog{}
	p := aSession(t, log, func(o *Options) {
		saying(permission.Annotation{Verdict: permission.Deny, Binding: true, Reason: "holds " + key}).use(o)
		o.Redactors = []event.Redactor{realRedactor(t)}
	})
	answer := p.answered(t, askFor("Allow", `{"a":1}`), nil)
	for where, text := range map[string]string{"answer": answer, "events": dumpOf(p.session), "audit log": log.whole(t)} {
		if holdsPart(text, body[:64]) {
			t.Errorf("%s: %s", where, text)
		}
	}
}

// A session that is cancelled while it begins has ended before it is observed: it is
// not told of at all, and nothing is kept for an end that was.
func TestNobodyObservesWhatHasEnded(t *testing.T) {
	w := &lateObserver{}
	p := aSession(t, nil, func(o *Options) { o.Observers = []event.Observer{w} })
	s := p.session
	s.unobserve()
	s.observe()
	s.notice("test", "late", nil)
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	if len(w.events) > 0 || len(s.engine.watched) > 0 {
		t.Errorf("told of %v, %d logs are kept", w.events, len(s.engine.watched))
	}
}

type lateObserver struct{ events []event.Event }

func (o *lateObserver) Observe(_ *event.Origin, e event.Event) { o.events = append(o.events, e) }
func (*lateObserver) Ended(string)                             {}

// What runs in the background gives its output by other calls, which owe nothing: a
// plugin that has to see it would not.
func TestPluginSeesNoBackgroundCalls(t *testing.T) {
	o := permission.Obligation{Kind: "run_plugin", Args: map[string]any{"name": "scan"}}
	for input, runs := range map[string]bool{
		`{"command":"x"}`: true, `{"command":"x","run_in_background":false}`: true, `{"command":"x","run_in_background":null}`: true,
		`{"command":"x","run_in_background":true}`: false, `{"run_in_background":"yes"}`: false,
	} {
		p := aSession(t, nil, func(opts *Options) {
			opts.OutputPlugin = func(string) bool { return true }
			opts.Deciders = []permission.Decider{decideFunc(func(permission.Request) (permission.Decision, error) {
				return permission.Decision{Effect: permission.Allow, Rule: "test.allow", Obligations: []permission.Obligation{o}}, nil
			})}
		})
		answer := p.answered(t, askFor("Bash", input), nil)
		if lets(answer) != runs || !runs && !strings.Contains(answer, "run_in_background") {
			t.Errorf("%s: %s", input, answer)
		}
	}
}

// Nor are values of variables and headers shown because a plugin repeats them.
func TestPluginsKeepNoCredentials(t *testing.T) {
	word := "correct" + "horse" + "battery"
	for name, parameter := range map[string]string{"env.DEPLOY": `"` + word + `"`, "mcpServers": `{"x":{"type":"http","url":"https://x.example","headers":{"A":"` + word + `"}}}`} {
		for _, a := range []permission.Annotation{
			{Verdict: permission.Deny, Binding: true, Reason: "odd " + word}, {Verdict: permission.Ask, Binding: true, Reason: "odd " + word},
			{Verdict: permission.Deny, Error: "near " + word}, {Reason: "saw " + word},
		} {
			log := &fakeLog{}
			a.Plugin = "scan"
			p := aSession(t, log, (&fakePlugins{of: func(admission.Request) []permission.Annotation { return []permission.Annotation{a} }}).use)
			err := p.session.engine.admit(t.Context(), p.session, admission.Request{Action: admission.Start, Parameters: map[string]json.RawMessage{name: json.RawMessage(parameter)}})
			if a.Verdict != permission.Abstain && !strings.Contains(err.Error(), word) {
				t.Errorf("the caller, whose word it is, is told %v", err)
			}
			found := log.of(audit.Admission)
			if len(found) != 1 || len(found[0].Plugins) != 1 || found[0].Plugins[0].Verdict != a.Word() || strings.Contains(log.whole(t), word) {
				t.Errorf("%s, %+v: %s", name, a, log.whole(t))
			}
		}
	}
}
