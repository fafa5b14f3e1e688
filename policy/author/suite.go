package author

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// The results of one test.
const (
	Passed  = "passed"
	Failed  = "failed"  // it was false or undefined
	Broken  = "error"   // it could not be evaluated: a built-in erred, or its time was up
	Skipped = "skipped" // its name begins with todo_
)

// defaultTestTimeout bounds one test.
const defaultTestTimeout = 5 * time.Second

// Suite is a set of tests: every rule test_… of the sources.
type Suite struct {
	Sources   []policy.Source
	Data      map[string]any // at data.cfg
	Documents Documents      // makes what gatehouse.facts returns
	Run       string         // regular expression on PACKAGE.NAME; empty: all
	Coverage  bool
	Timeout   time.Duration // of one test; 0 = 5 s
}

// Report is what a run of a suite found.
type Report struct {
	OK       bool      `json:"ok"` // nothing failed
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"` // errors included
	Skipped  int       `json:"skipped"`
	Examples int       `json:"examples"` // in METADATA; loading the policies has judged them
	Tests    []Test    `json:"tests"`
	Coverage *Coverage `json:"coverage,omitempty"`
}

// Test is the result of one test.
type Test struct {
	Name    string   `json:"name"` // PACKAGE.test_name, without "data."
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Status  string   `json:"status"` // see [Passed] and the others
	TookUS  int64    `json:"tookMicroseconds"`
	Cases   []string `json:"failedCases,omitempty"` // of a test with cases: those that failed
	Failure *Failure `json:"failure,omitempty"`     // the expression that failed
	Error   string   `json:"error,omitempty"`
	Output  string   `json:"output,omitempty"` // of print: its first and its last 4 KiB
}

// Test runs the suite. The error is a [*LoadError] when the sources do not
// compile; failing tests are no error.
func (s Suite) Test(ctx context.Context) (Report, error) {
	r := Report{Tests: []Test{}}
	if _, err := regexp.Compile(s.Run); err != nil {
		return r, fmt.Errorf("run %q: %w", s.Run, err)
	}
	var seen *cover.Cover
	if s.Coverage {
		seen = cover.New()
	}
	within, stop := boundedMemory(ctx, maxTestMemory)
	defer stop()
	p, results, err := s.run(within, s.Run, seen, false)
	if context.Cause(within) == errMemory {
		return r, errMemory
	}
	if err != nil {
		return r, err
	}
	if err := s.explain(ctx, results); err != nil {
		return r, err
	}
	for _, one := range results {
		r.add(p.told(one, cmp.Or(s.Timeout, defaultTestTimeout)))
	}
	slices.SortStableFunc(r.Tests, func(a, b Test) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	r.OK, r.Examples = r.Failed == 0, p.examples()
	if seen != nil {
		r.Coverage = p.coverage(seen)
	}
	return r, ctx.Err()
}

func (r *Report) add(t Test) {
	switch t.Status {
	case Passed:
		r.Passed++
	case Skipped:
		r.Skipped++
	default:
		r.Failed++
	}
	r.Tests = append(r.Tests, t)
}

// run compiles the suite and runs the tests whose names match filter, with a
// tracer or with coverage: the runner does one of them at a time. Each run needs
// a compiler of its own, because the runner adds stages to it.
func (s Suite) run(ctx context.Context, filter string, seen *cover.Cover, trace bool) (*program, []*tester.Result, error) {
	functions := builtins(s.Documents)
	var granted []*ast.Builtin
	for _, f := range functions {
		granted = append(granted, f.Decl)
	}
	p, runner, err := prepare(append(slices.Clip(s.Sources), testingSource()), features{builtins: granted, print: true})
	if err != nil {
		return nil, nil, err
	}
	store, err := storeOf(s.Data)
	if err != nil {
		return nil, nil, err
	}
	runner.SetStore(store).AddCustomBuiltins(functions).Filter(filter).RaiseBuiltinErrors(true).
		SetTimeout(cmp.Or(s.Timeout, defaultTestTimeout)).CapturePrintOutput(true).EnableTracing(trace)
	if seen != nil {
		runner.SetCoverageQueryTracer(seen).SetCoverageRuns(nil)
	}
	var results []*tester.Result
	err = storage.Txn(ctx, store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		all, err := runner.RunTests(ctx, txn)
		if err != nil {
			return p.loadError(err)
		}
		for one := range all {
			if one != nil {
				one.Output = []byte(shortened(string(one.Output)))
				results = append(results, one)
			}
		}
		return nil
	})
	return p, results, err
}

// prepare parses and compiles for the runner, which compiles itself so that it
// can add its stages.
func prepare(sources []policy.Source, f features) (*program, *tester.Runner, error) {
	p, err := parseAll(sources, f)
	if err != nil {
		return nil, nil, err
	}
	modules, c, err := p.ready(f)
	if err != nil {
		return nil, nil, err
	}
	p.compiler = c
	return p, tester.NewRunner().SetCompiler(c).SetModules(modules).SetDefaultRegoVersion(ast.RegoV2), nil
}

// storeOf is the store of a layer with that data.
func storeOf(cfg map[string]any) (storage.Store, error) {
	data, err := policy.Data(cfg)
	if err != nil {
		return nil, fmt.Errorf("data of the policies: %w", err)
	}
	return inmem.NewFromObject(map[string]any{"cfg": data}), nil
}
