package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// evalResult is the object of --json of eval and explain.
type evalResult struct {
	OK           bool              `json:"ok"` // false: --expect differs
	ExitCode     int               `json:"exitCode"`
	Effect       string            `json:"effect"`
	Rule         string            `json:"rule"`
	Reason       string            `json:"reason,omitempty"`
	By           string            `json:"by"`                     // "policy", or "engine" for the default effect and failures
	Layer        string            `json:"layer,omitempty"`        // of the rule that decided
	File         string            `json:"file,omitempty"`         // of that rule
	Line         int               `json:"line,omitempty"`         //
	Model        string            `json:"model,omitempty"`        // what the model reads when the call does not run
	UpdatedInput json.RawMessage   `json:"updatedInput,omitempty"` // what would run instead; judged again before it does
	Ask          *json.RawMessage  `json:"ask,omitempty"`          // the terms of an ask, where it has some
	Labels       map[string]string `json:"labels,omitempty"`
	Layers       []layerResult     `json:"layers"`
	Diagnostics  []string          `json:"diagnostics,omitempty"` // of a rule that failed: file:line and what happened
	Notes        []string          `json:"notes,omitempty"`       // what to keep in mind
	Document     json.RawMessage   `json:"document,omitempty"`    // with -v
	Next         nextStep          `json:"next"`
}

// layerResult is what one layer said.
type layerResult struct {
	Name     string          `json:"name"`
	Revision string          `json:"revision"`
	TookUS   int64           `json:"tookMicroseconds"`
	Failure  string          `json:"failure,omitempty"`
	Verdicts []verdictResult `json:"verdicts"`
}

type verdictResult struct {
	Effect       string `json:"effect"`
	Rule         string `json:"rule"`
	Reason       string `json:"reason,omitempty"`
	AgentMessage string `json:"agentMessage,omitempty"`
	Severity     string `json:"severity,omitempty"`
	File         string `json:"file,omitempty"`
	Line         int    `json:"line,omitempty"`
	Ignored      string `json:"ignored,omitempty"` // why it does not count
}

// policyEval judges one call with the policies in force.
func (c *command) policyEval(ctx context.Context, args []string) int {
	o := c.policyFlags("eval 'COMMAND' | --tool TOOL --input JSON | --sink SINK [--tool TOOL] | --document FILE",
		"Says what the policies in force would decide about a call, or, with --sink or\n--event, what they would cover in a payload. Nothing runs.")
	k := c.callFlags(o)
	k.plans = true
	k.payload.declare(o.flags)
	k.inproc.declare(o.flags)
	var show bool
	var expect string
	o.flags.BoolVar(&show, "show-document", false, "print the document the policies would read, and judge nothing")
	o.flags.StringVar(&expect, "expect", "", "exit with code 1 when the `effect` is another one: allow, ask, deny, halt, modify")
	if code, done := o.parse(args); done {
		return code
	}
	if expect != "" && !slices.Contains([]string{"allow", "ask", "deny", "halt", "modify"}, expect) {
		return c.failPolicy(o, fmt.Errorf("--expect %q: unknown, want allow, ask, deny, halt or modify", expect))
	}
	if err := k.load(ctx); err != nil {
		return c.failPolicy(o, err)
	}
	entry, document, err := k.judged()
	if err != nil {
		return c.failPolicy(o, err)
	}
	if show {
		return c.showDocument(document)
	}
	if entry == policy.EntryRedaction {
		if expect != "" {
			return c.failPolicy(o, errPlanExpect)
		}
		return k.evalPlan(ctx, document)
	}
	out, err := k.evaluate(ctx, entry, document)
	if err != nil {
		return c.failPolicy(o, err)
	}
	if out.OK = expect == "" || out.Effect == expect; !out.OK {
		out.ExitCode = policyNo
	}
	return k.evaluated(out, document, expect)
}

func (k *policyCall) evaluate(ctx context.Context, entry policy.Entrypoint, document json.RawMessage) (evalResult, error) {
	e, err := k.set.Evaluate(ctx, entry, document)
	if err != nil {
		return evalResult{}, err
	}
	d := e.Decision
	out := evalResult{
		OK: true, Effect: d.Effect.String(), Rule: d.Rule, Reason: d.Reason, By: d.By, Layer: d.Layer,
		UpdatedInput: d.UpdatedInput, Labels: d.Labels, Layers: []layerResult{}, Diagnostics: d.Diagnostics,
	}
	if k.note != "" {
		out.Notes = []string{k.note}
	}
	if d.Effect >= permission.Ask {
		out.Model = d.Message()
	}
	if !d.Ask.IsZero() {
		terms, err := json.Marshal(d.Ask)
		if err != nil {
			return out, err
		}
		out.Ask = (*json.RawMessage)(&terms)
	}
	modules := k.modules(document)
	for _, l := range e.Layers {
		r := layerOf(l)
		i := slices.IndexFunc(modules, func(m policy.Suite) bool { return m.Layer == l.Name })
		for v := range r.Verdicts {
			if i >= 0 && r.Verdicts[v].File == "" {
				r.Verdicts[v].File, r.Verdicts[v].Line = author.Locate(modules[i], r.Verdicts[v].Rule, r.Verdicts[v].Effect)
			}
			if one := r.Verdicts[v]; out.File == "" && one.Rule == out.Rule && l.Name == out.Layer {
				out.File, out.Line = one.File, one.Line
			}
		}
		out.Layers = append(out.Layers, r)
	}
	return out, nil
}

// modules are those of every layer, under the names that are shown.
func (k *policyCall) modules(document json.RawMessage) []policy.Suite {
	all := k.set.Modules(document)
	for _, m := range all {
		for i := range m.Sources {
			m.Sources[i].Name = shortPath(m.Sources[i].Name)
		}
	}
	return all
}

func layerOf(l policy.LayerEvaluation) layerResult {
	r := layerResult{Name: l.Name, Revision: l.Revision, TookUS: l.Took.Microseconds(), Failure: l.Failure, Verdicts: []verdictResult{}}
	for _, v := range l.Verdicts {
		r.Verdicts = append(r.Verdicts, verdictResult{
			Effect: v.Effect, Rule: v.Rule, Reason: v.Reason, AgentMessage: v.AgentMessage,
			Severity: v.Severity, File: shortPath(v.File), Line: v.Line, Ignored: v.Ignored,
		})
	}
	return r
}

func (c *command) showDocument(document json.RawMessage) int {
	var b bytes.Buffer
	if err := json.Indent(&b, document, "", "  "); err != nil {
		return c.fail(policyWrong, err)
	}
	fmt.Fprintln(c.stdout, escapeLines(b.String()))
	return policyYes
}
