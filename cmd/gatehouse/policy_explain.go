package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// explainResult is the object of --json: that of eval, and the rules that did not fire.
type explainResult struct {
	evalResult
	Decision string        `json:"decision,omitempty"` // id in the log that was given
	Silent   []silentRules `json:"silent"`
	Changes  []string      `json:"changes"` // what would change the answer
}

// silentRules are the rules of one layer that did not fire.
type silentRules struct {
	Layer string             `json:"layer"`
	Rules []author.RuleTrace `json:"rules"`
}

// explanation is one gatehouse policy explain.
type explanation struct {
	*policyCall
	decision, log string
}

// policyExplain says why the policies decide as they do.
func (c *command) policyExplain(ctx context.Context, args []string) int {
	o := c.policyFlags("explain 'COMMAND' | --tool TOOL --input JSON | --sink SINK [--tool TOOL] | --document FILE | --decision ID [--log LOG]",
		"Says which rule decides and why, and why the others do not; with --sink or --event,\nwhich rules cover something in a payload, and why not the others. With -v the\nbuilt-in rules too.")
	x := &explanation{policyCall: c.callFlags(o)}
	x.plans = true
	x.payload.declare(o.flags)
	x.inproc.declare(o.flags)
	o.flags.StringVar(&x.decision, "decision", "", "explain the decision with this `id` of a decision log")
	o.flags.StringVar(&x.log, "log", "", "`file or folder` of decision logs; default: the configured one")
	if code, done := o.parse(args); done {
		return code
	}
	out, plan, err := x.explain(ctx)
	switch {
	case err != nil:
		return c.failPolicy(o, err)
	case plan != nil:
		return x.tellPlan(*plan)
	}
	return x.tell(out)
}

// explain is one of both.
func (x *explanation) explain(ctx context.Context) (out explainResult, plan *explainedPlan, err error) {
	var entry policy.Entrypoint
	var document json.RawMessage
	if x.decision != "" || x.log != "" {
		if entry, document, err = x.logged(&out); err != nil {
			return out, nil, err
		}
		x.document = "a decision log" // so that no command is asked for
	}
	if err := x.load(ctx); err != nil {
		return out, nil, err
	}
	if document == nil {
		if entry, document, err = x.judged(); err != nil {
			return out, nil, err
		}
	}
	if entry == policy.EntryRedaction {
		p, err := x.explainPlan(ctx, document)
		return out, &p, err
	}
	notes := out.Notes
	if out.evalResult, err = x.evaluate(ctx, entry, document); err != nil {
		return out, nil, err
	}
	out.Notes = append(notes, out.Notes...)
	if x.o.verbose {
		out.Document = document
	}
	if err := x.silent(ctx, &out, entry, document); err != nil {
		return out, nil, err
	}
	rules := allowable(document)
	out.Changes = x.changes(out.evalResult, rules)
	out.Next = x.nextStep(out, rules)
	return out, nil, nil
}

// silent traces the rules of every layer; those of the built-in one with -v.
func (x *explanation) silent(ctx context.Context, out *explainResult, entry policy.Entrypoint, document json.RawMessage) error {
	out.Silent = []silentRules{}
	for _, m := range x.modules(document) {
		if m.Layer == "builtin" && !x.o.verbose {
			continue
		}
		all, err := author.Explain(ctx, m, entry, document)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // a rule fails: the layer's failure is the answer, and shown
			out.Notes = append(out.Notes, "the rules of layer "+m.Layer+" cannot be followed, because one fails")
			continue
		}
		s := silentRules{Layer: m.Layer, Rules: []author.RuleTrace{}}
		for _, r := range all {
			if !r.Fired {
				s.Rules = append(s.Rules, r)
			}
		}
		out.Silent = append(out.Silent, s)
	}
	return nil
}

// tell prints the explanation, winner first.
func (x *explanation) tell(out explainResult) int {
	if x.o.json {
		if err := x.printJSON(out); err != nil {
			return x.fail(policyWrong, err)
		}
		return policyYes
	}
	x.headline(out.evalResult)
	switch {
	case out.File != "":
		x.say("  rule at %s:%d, layer %s", out.File, out.Line, out.Layer)
	case out.Layer != "":
		x.say("  layer %s", out.Layer)
	default:
		x.say("  the engine says so: no rule decided")
	}
	x.heard(out.evalResult)
	x.say("what each layer said")
	for _, l := range out.Layers {
		x.layerText(l)
	}
	for _, s := range out.Silent {
		x.silentText(s)
	}
	if len(out.Changes) > 0 {
		x.say("what would change it")
		for _, change := range out.Changes {
			x.say("  %s", change)
		}
	}
	x.next("%s", out.Next)
	return policyYes
}

func (x *explanation) silentText(s silentRules) {
	if len(s.Rules) == 0 {
		return
	}
	x.say("why the other rules of layer %s did not fire", s.Layer)
	for _, r := range s.Rules {
		name := strings.TrimLeft(r.Effect+"  "+r.Rule, " ")
		if r.Rule == "" {
			name = "a rule whose id is computed"
		}
		x.say("  %s  %s:%d", name, r.File, r.Line)
		if r.Failure == nil {
			x.say("    not come to: the rule that takes it in did not hold before")
		}
		x.failure(r.Failure, "    ")
	}
}

// changes says what would lead to another answer.
func (x *explanation) changes(out evalResult, rules []string) []string {
	own := "a rule of yours with effect allow"
	if len(rules) > 1 {
		own += " for each part of the call"
	}
	switch {
	case out.Rule == "engine.default":
		return append(append([]string{own}, allowCommands(rules)...),
			"allowedTools of the caller, where the profile heeds them (try --allowed-tools)",
			"[policy] default_effect, which is in force where nothing allows")
	case strings.HasPrefix(out.Rule, "admission."):
		return []string{"a grant in the configuration ([grants] parameters), or another profile", "a request without what rule " + out.Rule + " names"}
	case out.By == "engine":
		return []string{"nothing a rule could say: " + out.Reason}
	case out.Effect == "ask":
		return []string{
			"an answer; a rule that allows does not outweigh one that asks",
			"for danger rules of a profile: a specific rule of the caller, such as --allowed-tools 'Bash(git push *)'",
			"another condition in rule " + out.Rule,
		}
	case (out.Effect == "deny" || out.Effect == "halt") && out.Layer == "builtin":
		return []string{"another profile, or a call that rule " + out.Rule + " is not about: built-in refusals are final"}
	case out.Effect == "deny" || out.Effect == "halt":
		return []string{"another condition in rule " + out.Rule + ": a refusal is final, no allow outweighs it"}
	}
	return []string{"a rule with effect ask or deny: the strictest answer wins"}
}
