package author

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/tester"
)

// explain runs the failed tests again with a tracer and puts the traces into
// the results. A trace of every test would take much memory.
func (s Suite) explain(ctx context.Context, results []*tester.Result) error {
	byName := map[string]*tester.Result{}
	var names []string
	for _, r := range results {
		if r.Fail && r.Error == nil {
			name := r.Package + "." + r.Name
			byName[name] = r
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	within, stop := boundedMemory(ctx, maxTestMemory)
	defer stop()
	_, again, err := s.run(within, "^("+strings.Join(names, "|")+")$", nil, true)
	for _, r := range again {
		if first := byName[r.Package+"."+r.Name]; first != nil {
			first.Trace = r.Trace
		}
	}
	if context.Cause(within) == errMemory {
		return nil // then the failures are shown without their expressions
	}
	return err
}

// told turns the runner's result into ours.
func (p *program) told(r *tester.Result, limit time.Duration) Test {
	t := Test{
		Name: strings.TrimPrefix(r.Package, "data.") + "." + r.Name, Status: Passed,
		TookUS: r.Duration.Microseconds(), Output: string(r.Output),
	}
	if r.Location != nil {
		t.File, t.Line = r.Location.File, r.Location.Row
	}
	switch {
	case r.Skip:
		t.Status = Skipped
	case r.Error != nil:
		t.Status, t.Error = Broken, errorText(r.Error, limit)
	case r.Fail:
		t.Status = Failed
		for path, sub := range r.SubResults.Iter {
			if sub.Fail && len(sub.SubResults) == 0 {
				t.Cases = append(t.Cases, strings.Join(path, "/"))
			}
		}
		t.Failure = p.failedTest(r, t)
	}
	return t
}

// errorText drops what only repeats that evaluation failed.
func errorText(err error, limit time.Duration) string {
	if errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "eval_cancel_error") {
		return fmt.Sprintf("it took longer than %s; make it cheaper, or give it more time with --timeout", limit)
	}
	return err.Error()
}

// failedTest finds the expression that failed in the trace of a test.
func (p *program) failedTest(r *tester.Result, t Test) *Failure {
	f := newFailures()
	for _, e := range r.Trace {
		f.TraceEvent(*e)
	}
	var best *traced
	for _, q := range f.rules {
		at := q.rule.Location
		if at != nil && at.File == t.File && at.Row == t.Line && q.stop != nil && !q.exited {
			best = q
		}
	}
	return p.failure(best, nil, 0)
}

// examples counts the examples in METADATA of rules.
func (p *program) examples() (n int) {
	for _, m := range p.parsed {
		for _, r := range m.Rules {
			for _, a := range r.Annotations {
				for _, key := range []string{"match", "not_match"} {
					list, _ := a.Custom[key].([]any)
					n += len(list)
				}
			}
		}
	}
	return n
}
