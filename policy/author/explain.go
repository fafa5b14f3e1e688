package author

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// RuleTrace is one rule that adds to a set of decisions, and what came of it.
type RuleTrace struct {
	Rule    string   `json:"rule"`   // id; empty when it is computed
	Effect  string   `json:"effect"` // of an edit its action; empty when it is computed
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Fired   bool     `json:"fired"`
	Failure *Failure `json:"failure,omitempty"` // the condition that did not hold; absent where the rule was not come to
}

// Locate returns where the rules of a layer write out the decision with this id
// and effect: the first place, by file and line. The zero line means nowhere.
func Locate(layer policy.Suite, id, effect string) (file string, line int) {
	p, err := parseAll(layer.Sources, features{})
	if err != nil {
		return "", 0
	}
	l := &linter{program: p}
	l.deciding(l.collect)
	for _, d := range l.decisions {
		if d.text("rule") == id && (d.word() == effect || d.word() == "") {
			return d.rule.Location.File, d.rule.Location.Row
		}
	}
	return "", 0
}

// Explain evaluates a document against one layer and tells of every rule of the
// entry point whether it fired and, if not, which condition stopped it. It takes
// ten times as long as a decision.
func Explain(ctx context.Context, layer policy.Suite, e policy.Entrypoint, document json.RawMessage) ([]RuleTrace, error) {
	p, err := compile(layer.Sources, features{})
	if err != nil {
		return nil, err
	}
	whole, err := policy.Complete(e, document)
	if err != nil {
		return nil, err
	}
	input, err := ast.ValueFromReader(bytes.NewReader(whole))
	if err != nil {
		return nil, fmt.Errorf("%s document: %w", e, err)
	}
	if p.data, err = ast.InterfaceToValue(layer.Data); err != nil {
		return nil, fmt.Errorf("data of the %s policies: %w", layer.Layer, err)
	}
	f := newFailures()
	if err := p.trace(ctx, layer, e, input, f); err != nil {
		return nil, fmt.Errorf("explain %s policies: %w", layer.Layer, err)
	}
	return p.traced(e, input, f), nil
}

// trace evaluates every rule: an index would leave most of them out.
func (p *program) trace(ctx context.Context, layer policy.Suite, e policy.Entrypoint, input ast.Value, tracer topdown.QueryTracer) error {
	q, err := p.query(ctx, layer.Data, e)
	if err != nil || q == nil {
		return err
	}
	none := func(*ast.Term, *rego.EvalContext) (any, error) { return nil, nil } // written out, a result can be huge
	_, err = q.Eval(ctx, rego.EvalParsedInput(input), rego.EvalQueryTracer(tracer), rego.EvalRuleIndexing(false), rego.EvalGenerateJSON(none))
	return err
}

// query prepares the set of an entry point; nil when the layer has none.
func (p *program) query(ctx context.Context, data map[string]any, e policy.Entrypoint) (*rego.PreparedEvalQuery, error) {
	ref := decisionsRef(e)
	if len(p.compiler.GetRulesExact(ref)) == 0 {
		return nil, nil
	}
	store, err := storeOf(data)
	if err != nil {
		return nil, err
	}
	return prepareQuery(ctx, p.compiler, store, ref)
}

func prepareQuery(ctx context.Context, c *ast.Compiler, store storage.Store, ref ast.Ref) (*rego.PreparedEvalQuery, error) {
	q, err := rego.New(
		rego.Compiler(c), rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(ref)))), rego.Store(store),
		rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV2),
	).PrepareForEval(ctx)
	return &q, err
}

func decisionsRef(e policy.Entrypoint) ast.Ref {
	set := "decisions"
	if e == policy.EntryRedaction {
		set = "plan"
	}
	return ast.MustParseRef("data.gatehouse." + string(e) + "." + set)
}

// traced lists the rules in the order of files and lines.
func (p *program) traced(e policy.Entrypoint, input ast.Value, f *failures) []RuleTrace {
	byPlace := map[string][]*traced{}
	for _, q := range f.rules {
		if at := q.rule.Location; at != nil {
			key := fmt.Sprintf("%s:%d:%d", at.File, at.Row, at.Col)
			byPlace[key] = append(byPlace[key], q)
		}
	}
	l := &linter{program: p}
	for _, name := range sorted(p.parsed) {
		if packageName(p.parsed[name]) == "gatehouse."+string(e) {
			l.collect(p.parsed[name])
		}
	}
	all := make([]RuleTrace, 0, len(l.decisions))
	for _, d := range l.decisions {
		at := d.rule.Location
		one := RuleTrace{Rule: d.text("rule"), Effect: d.word(), File: at.File, Line: at.Row}
		var stopped *traced
		for _, q := range byPlace[fmt.Sprintf("%s:%d:%d", at.File, at.Row, at.Col)] {
			one.Fired = one.Fired || q.exited
			if q.stop != nil && (stopped == nil || q.progress() > stopped.progress()) {
				stopped = q
			}
		}
		if !one.Fired {
			one.Failure = p.failure(stopped, input, 0)
		}
		all = append(all, one)
	}
	return all
}
