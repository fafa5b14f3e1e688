package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// plugin is an annotator of one plugin.
type plugin func(Request) Annotation

func (p plugin) Annotate(_ context.Context, r Request) []Annotation { return []Annotation{p(r)} }
func (plugin) Revision() string                                     { return "p1" }

func verdict(e Effect, binding bool) plugin {
	return func(Request) Annotation {
		return Annotation{Plugin: "lint", Verdict: e, Binding: binding, Reason: "dirty", Values: map[string]json.RawMessage{"k": json.RawMessage(`1`)}}
	}
}

func failure(e Effect) plugin {
	return func(Request) Annotation { return Annotation{Plugin: "lint", Verdict: e, Error: "timeout"} }
}

func judged(c Chain) Decision {
	return c.Decide(context.Background(), Request{Input: json.RawMessage(`{"x":1}`)})
}

func TestPluginsDecide(t *testing.T) {
	denyChanged := plugin(func(r Request) Annotation {
		a := Annotation{Plugin: "lint", Binding: true}
		if string(r.Input) == `{"x":2}` {
			a.Verdict = Deny
		}
		return a
	})
	panics := plugin(func(Request) Annotation { panic("broken") })
	cases := []struct {
		name     string
		plugin   plugin
		deciders []Decider
		effect   Effect
		rule     string
		reason   string
	}{
		{"pass", verdict(Abstain, true), []Decider{says(Allow)}, Allow, "allow", ""},
		{"its allow grants nothing", verdict(Allow, true), []Decider{says(Abstain)}, Ask, "engine.default", "no policy allows"},
		{"deny", verdict(Deny, true), []Decider{says(Allow)}, Deny, "plugin.lint", `dirty (plugin "lint" refuses it; with binding = "none"`},
		{"deny without binding", verdict(Deny, false), []Decider{says(Allow)}, Allow, "allow", ""},
		{"ask", verdict(Ask, true), []Decider{says(Allow)}, Ask, "plugin.lint", `dirty (plugin "lint" asks about it`},
		{"ask where policies ask", verdict(Ask, true), []Decider{says(Ask)}, Ask, "ask", `dirty (plugin "lint" asks`},
		{"ask where none allows", verdict(Ask, true), []Decider{says(Abstain)}, Ask, "engine.default", "; dirty (plugin"},
		{"deny where policies deny", verdict(Deny, true), []Decider{says(Deny)}, Deny, "deny", ""},
		{"halt stays", verdict(Deny, true), []Decider{says(Halt)}, Halt, "halt", ""},
		{"failure that denies", failure(Deny), []Decider{says(Allow)}, Deny, "plugin.lint.error", `gave no answer (timeout), so its on_error decides`},
		{"failure that asks", failure(Ask), []Decider{says(Allow)}, Ask, "plugin.lint.error", `on_error`},
		{"failure that is skipped", failure(Abstain), []Decider{says(Allow)}, Allow, "allow", ""},
		{"no verdict of plugins", verdict(Modify, false), []Decider{says(Allow)}, Deny, "plugin.lint.error", "verdict 2"},
		{"nor this", verdict(77, false), []Decider{says(Allow)}, Deny, "plugin.lint.error", "verdict 77"},
		{"panic", panics, []Decider{says(Allow)}, Deny, "engine.panic", ""},
		{"no policy", verdict(Allow, true), nil, Deny, "engine.no_policy", ""},
		{"ask about a change", verdict(Ask, true), []Decider{decide(modifyOnce)}, Ask, "plugin.lint", "dirty"},
		{"the change is looked at", denyChanged, []Decider{decide(modifyOnce)}, Deny, "plugin.lint", `plugin "lint" refuses it (`},
		{"the change of a question is", denyChanged, []Decider{says(Ask)}, Deny, "plugin.lint", ""},
		{"change for ever", verdict(Abstain, true), []Decider{decide(modifyAlways)}, Deny, "engine.modify_loop", ""},
		{"change to nothing", verdict(Abstain, true), []Decider{decide(func(Request) (Decision, error) { return Decision{Effect: Modify}, nil })}, Deny, "engine.modify_empty", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := judged(Chain{Deciders: c.deciders, Annotators: []Annotator{c.plugin}})
			if d.Effect != c.effect || d.Rule != c.rule || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("decision = %s by %q: %s; want %s by %q: …%s…", d.Effect, d.Rule, d.Reason, c.effect, c.rule, c.reason)
			}
			if fromPlugin := strings.HasPrefix(c.rule, "plugin."); fromPlugin != (d.By == "plugin") || fromPlugin != (d.Plugin() == "lint") {
				t.Errorf("by %q, plugin %q", d.By, d.Plugin())
			}
			if c.rule != "engine.panic" && (len(d.Plugins) != 1 || d.Plugins[0].Plugin != "lint" || d.Plugins[0].Values != nil) {
				t.Errorf("plugins = %+v", d.Plugins)
			}
			if len(c.deciders) > 0 && c.rule != "engine.modify_empty" && c.rule != "engine.modify_loop" && d.Revision != "r" {
				t.Errorf("policies = %q, want r", d.Revision)
			}
			if d.Effect == Deny && d.By == "plugin" && !strings.Contains(d.AgentMessage, "plugin lint") {
				t.Errorf("the model reads %q", d.AgentMessage)
			}
			if c.effect == Ask && c.name == "ask about a change" && string(d.UpdatedInput) != `{"x":2}` {
				t.Errorf("asked about %s", d.UpdatedInput)
			}
		})
	}
}

var allEffects = []Effect{Abstain, Allow, Modify, Ask, Deny, Halt, 77}

// Whatever plugins say, nothing is looser than by the policies alone; and without
// a verdict that binds it is the very same.
func TestPluginsNeverLoosen(t *testing.T) {
	changes := func(e Effect) decide { // as a policy does: it judges its own change the same way
		return func(r Request) (Decision, error) {
			d := Decision{Effect: e, Rule: "policy", By: "policy", Ask: AskTerms{Scope: "exact", Quorum: 2, TimeoutSeconds: 5}, Obligations: []Obligation{{Kind: "log_full"}}}
			if e == Modify || e == Ask {
				d.UpdatedInput = json.RawMessage(`{"x":2}`)
			}
			if e == Modify && string(r.Input) == `{"x":2}` {
				d.Effect, d.UpdatedInput = Allow, nil
			}
			return d, nil
		}
	}
	for _, policy := range []func(Effect) decide{says, changes} {
		for _, a := range allEffects {
			for _, b := range allEffects {
				for _, binding := range []bool{false, true} {
					for _, second := range allEffects {
						said := plugin(func(r Request) Annotation {
							if string(r.Input) == `{"x":1}` {
								return verdict(b, binding)(r)
							}
							return verdict(second, binding)(r)
						})
						name := fmt.Sprintf("policy %s, plugin %d then %d, binding %t", a, b, second, binding)
						checkNotLooser(t, name, policy(a), said, b, second, binding)
					}
				}
			}
		}
	}
}

func checkNotLooser(t *testing.T, name string, policy decide, said plugin, first, second Effect, binding bool) {
	t.Helper()
	silent := plugin(func(Request) Annotation { return Annotation{Plugin: "silent"} })
	alone := judged(Chain{Deciders: []Decider{policy}, Annotators: []Annotator{silent}})
	with := judged(Chain{Deciders: []Decider{policy}, Annotators: []Annotator{said}})
	bare := judged(Chain{Deciders: []Decider{policy}})
	if with.Effect < alone.Effect || with.Effect < bare.Effect {
		t.Errorf("%s: %s, alone %s", name, with.Effect, alone.Effect)
	}
	if terms := alone.Ask.Stricter(with.Ask); with.Effect == Ask && alone.Effect == Ask && !reflect.DeepEqual(terms, with.Ask) {
		t.Errorf("%s: terms %+v, alone %+v", name, with.Ask, alone.Ask)
	}
	if with.Effect < Deny && string(with.UpdatedInput) != string(alone.UpdatedInput) {
		t.Errorf("%s: runs %s, alone %s", name, with.UpdatedInput, alone.UpdatedInput)
	}
	if with.Effect < Deny && len(with.Obligations) < len(alone.Obligations) {
		t.Errorf("%s: obligations %v, alone %v", name, with.Obligations, alone.Obligations)
	}
	odd := func(e Effect) bool { return e == Modify || e > Deny }
	if binding || odd(first) || odd(second) {
		return
	}
	with.Plugins, alone.Plugins = nil, nil
	if !reflect.DeepEqual(with, alone) {
		t.Errorf("%s:\n%+v, alone\n%+v", name, with, alone)
	}
}

// Deciders see what plugins said of the very input they judge, and nothing a caller
// put there; the decision tells what was said of the input that would run.
func TestAnnotationsAreOfTheInputJudged(t *testing.T) {
	echo := plugin(func(r Request) Annotation {
		return Annotation{Plugin: "echo", Reason: string(r.Input), Values: map[string]json.RawMessage{"input": r.Input}}
	})
	var seen []string
	decider := decide(func(r Request) (Decision, error) {
		if len(r.Annotations) != 1 || string(r.Annotations[0].Values["input"]) != string(r.Input) {
			t.Errorf("annotations of %s: %+v", r.Input, r.Annotations)
		}
		seen = append(seen, string(r.Input))
		return modifyOnce(r)
	})
	c := Chain{Deciders: []Decider{decider}, Annotators: []Annotator{echo}}
	d := c.Decide(context.Background(), Request{Input: json.RawMessage(`{"x":1}`), Annotations: []Annotation{{Plugin: "forged"}}})
	if len(seen) != 2 || d.Effect != Modify || len(d.Plugins) != 1 || d.Plugins[0].Reason != `{"x":2}` {
		t.Errorf("judged %v, plugins %+v", seen, d.Plugins)
	}
}

func TestRevisionNamesPlugins(t *testing.T) {
	revision := "p1"
	named := named(func() string { return revision })
	c := Chain{Deciders: []Decider{says(Ask)}, Annotators: []Annotator{named}}
	d := judged(c)
	if d.InForce() != c.Revision() || d.Revision != "r" || c.Policies() != "r" {
		t.Errorf("decided under %q of %q, policies %q", d.InForce(), c.Revision(), d.Revision)
	}
	revision = "p2"
	if d.InForce() == c.Revision() {
		t.Error("a reload of plugins is not seen")
	}
	if revision = ""; c.Revision() != "r" {
		t.Errorf("without plugins: %q", c.Revision())
	}
}

type named func() string

func (named) Annotate(context.Context, Request) []Annotation { return nil }
func (n named) Revision() string                             { return n() }

func TestHeardIsBounded(t *testing.T) {
	long := strings.Repeat("x", maxPluginText+1)
	all := make([]Annotation, maxAnnotations+3)
	all[0] = Annotation{Plugin: "a", Reason: long, Error: "\xff", Verdict: Deny}
	heard := Heard(all)
	last := heard[len(heard)-1]
	if len(heard) != maxAnnotations+1 || !last.Binds() || last.Verdict != Deny {
		t.Errorf("%d are heard, the last is %+v", len(heard), last)
	}
	if a := heard[0]; strings.Contains(a.Reason, "xx") || a.Error != "\uFFFD" || !a.Binding {
		t.Errorf("heard %+v", a)
	}
	if all[0].Reason != long {
		t.Error("what plugins said was changed")
	}
}
