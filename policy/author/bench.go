package author

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/profiler"
	"github.com/open-policy-agent/opa/v1/rego"
)

// Cost is the time one line of a layer takes.
type Cost struct {
	Layer string `json:"layer"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Text  string `json:"text"`
	Nanos int64  `json:"nanoseconds"` // of one evaluation, the profiler's own time included
	Evals int    `json:"evaluations"` // how often it is tried
}

// Costs profiles the evaluation of a document by one layer, as it is evaluated
// when it decides, n times over, and returns the most expensive lines, at most
// limit of them. The profiler makes everything several times slower: compare the
// lines with each other only.
func Costs(ctx context.Context, layer policy.Suite, e policy.Entrypoint, document json.RawMessage, n, limit int) ([]Cost, error) {
	p, err := compile(layer.Sources, features{})
	if err != nil {
		return nil, err
	}
	input, err := ast.ValueFromReader(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("%s document: %w", e, err)
	}
	q, err := p.query(ctx, layer.Data, e)
	if err != nil || q == nil {
		return nil, err
	}
	stats := profiler.New()
	for range n {
		if _, err := q.Eval(ctx, rego.EvalParsedInput(input), rego.EvalQueryTracer(stats)); err != nil {
			return nil, fmt.Errorf("profile %s policies: %w", layer.Layer, err)
		}
	}
	var all []Cost
	for _, s := range stats.ReportTopNResults(limit, []string{"total_time_ns"}) {
		if s.Location == nil || s.Location.File == "" {
			continue
		}
		c := Cost{Layer: layer.Layer, File: s.Location.File, Line: s.Location.Row, Nanos: s.ExprTimeNs / int64(n), Evals: s.NumEval / n}
		c.Text = p.finding("", "", s.Location, "", "").Text
		all = append(all, c)
	}
	return all, nil
}
