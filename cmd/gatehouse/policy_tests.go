package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/watch"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// testRun is one gatehouse policy test.
type testRun struct {
	*command
	o        *policyOptions
	run      string
	timeout  time.Duration // of one test; 0 = the default
	coverage bool
	least    float64 // coverage of every file, percent
}

// testResult is the object of --json.
type testResult struct {
	author.Report
	ExitCode int      `json:"exitCode"`
	Below    []string `json:"belowMinCoverage,omitempty"` // files
	Next     nextStep `json:"next"`
}

// policyTest runs the tests of the user's policies.
func (c *command) policyTest(ctx context.Context, args []string) int {
	t := &testRun{command: c}
	t.o = c.policyFlags("test [PATHS]", "Runs every rule test_… of PATHS, or of the configured policies. Exit code 1: one failed.")
	t.o.dataFlag()
	var watching bool
	f := t.o.flags
	f.StringVar(&t.run, "run", "", "only tests whose PACKAGE.NAME matches this regular `expression`")
	f.DurationVar(&t.timeout, "timeout", 0, "`time` one test may take, such as 30s; default 5s")
	f.BoolVar(&t.coverage, "coverage", false, "show which lines no test reached")
	f.Float64Var(&t.least, "min-coverage", 0, "fail when a file's coverage is below this `percentage`, 0 to 100")
	f.BoolVar(&watching, "watch", false, "run again when a file changes, until interrupted")
	if code, done := t.o.parse(args); done {
		return code
	}
	if !percent(t.least) {
		return c.failPolicy(t.o, fmt.Errorf("test: --min-coverage %g is out of bounds, want 0 to 100", t.least))
	}
	if watching {
		return t.watch(ctx)
	}
	return t.once(ctx, func(*policySources) {})
}

// percent reports a share that can be demanded.
func percent(share float64) bool { return share >= 0 && share <= 100 }

// once runs the tests and prints what it found. found is called before anything
// is read.
func (t *testRun) once(ctx context.Context, found func(*policySources)) int {
	p, err := t.findPolicies(t.o)
	if err != nil {
		return t.failPolicy(t.o, err)
	}
	found(p)
	if err := p.read(); err != nil {
		return t.failPolicy(t.o, err)
	}
	if err := p.load(ctx); err != nil {
		return t.failPolicy(t.o, err)
	}
	set, err := p.documents(ctx)
	if err != nil {
		return t.failPolicy(t.o, err)
	}
	report, err := author.Suite{
		Sources: p.sources, Data: p.data, Documents: set, Run: t.run, Coverage: t.coverage || t.least > 0, Timeout: t.timeout,
	}.Test(ctx)
	if err != nil {
		return t.failPolicy(t.o, err)
	}
	return t.tell(report)
}

// testWatchEvery is how often files are looked at; a change counts when it has come to rest.
const testWatchEvery = 250 * time.Millisecond

// watch runs the tests again whenever a file has changed, until ctx ends. What
// changes while they run makes them run once more.
func (t *testRun) watch(ctx context.Context) int {
	ticker := time.NewTicker(testWatchEvery)
	defer ticker.Stop()
	var files watch.Files
	looked := func(p *policySources) { files.Reset(append(slices.Clone(p.paths), p.dataPaths...), policyExt) }
	code := t.once(ctx, looked)
	for {
		select {
		case <-ctx.Done():
			return code
		case <-ticker.C:
		}
		if !files.Changed() {
			continue
		}
		if !t.o.json {
			t.say("")
		}
		code = t.once(ctx, looked)
	}
}

// tell prints the report and returns the exit code.
func (t *testRun) tell(r author.Report) int {
	out := testResult{Report: r, ExitCode: policyYes}
	if r.Coverage != nil {
		for _, f := range r.Coverage.Files {
			if f.Percent < t.least {
				out.Below = append(out.Below, f.File)
			}
		}
	}
	if !r.OK || len(out.Below) > 0 || out.none() {
		out.ExitCode, out.OK = policyNo, false
	}
	out.Next = out.next(t.o, t.least)
	if t.o.json {
		if err := t.printJSON(out); err != nil {
			return t.fail(policyWrong, err)
		}
		return out.ExitCode
	}
	t.say("%s  %s", t.mark(out.OK), out.summary())
	for _, one := range r.Tests {
		t.test(one)
	}
	t.covered(r.Coverage)
	t.next("%s", out.Next)
	return out.ExitCode
}

// none reports policies without anything that says how they should decide.
func (r testResult) none() bool { return len(r.Tests)+r.Examples == 0 }

func (r testResult) summary() string {
	if r.none() {
		return "there is no test to run"
	}
	text := plural(r.Passed, "test") + " passed"
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	if r.Examples > 0 {
		text += ", " + plural(r.Examples, "example") + " hold"
	}
	if r.Coverage != nil {
		text += fmt.Sprintf(", coverage %.1f %%", r.Coverage.Percent)
	}
	return text
}

func (r testResult) next(o *policyOptions, least float64) nextStep {
	switch {
	case r.none():
		return nextStep{Note: "write one: a rule test_… in a package that ends in _test; gatehouse policy init shows how"}
	case r.Failed > 0:
		return nextStep{Note: "correct the rule or the test, and try one call with gatehouse policy explain"}
	case len(r.Below) > 0:
		return nextStep{Note: fmt.Sprintf("add tests for %s, whose coverage is below %g %%", strings.Join(r.Below, ", "), least)}
	}
	return nextStep{Command: o.again("lint")}
}

// test prints a test that failed, or with -v every one.
func (t *testRun) test(one author.Test) {
	good := one.Status == author.Passed || one.Status == author.Skipped
	if good && !t.o.verbose {
		return
	}
	word := t.mark(good)
	if one.Status == author.Skipped {
		word = "skipped"
	}
	t.say("%s  %s  %s:%d", word, one.Name, one.File, one.Line)
	if one.Error != "" {
		t.say("    %s", one.Error)
	}
	if len(one.Cases) > 0 {
		t.say("    failed for: %s", strings.Join(one.Cases, "  "))
	}
	t.failure(one.Failure, "    ")
	if one.Output != "" {
		for line := range strings.Lines(one.Output) {
			t.say("    print: %s", strings.TrimRight(line, "\n"))
		}
	}
}

func (t *testRun) covered(c *author.Coverage) {
	if c == nil {
		return
	}
	for _, f := range c.Files {
		if t.coverage || f.Percent < t.least {
			line := fmt.Sprintf("  %5.1f %%  %s", f.Percent, f.File)
			if missed := f.Missed(); missed != "" {
				line += "  not reached: " + missed
			}
			t.say("%s", line)
		}
	}
}

// failure prints what stopped a rule: the line, what it read, and below it the
// line of the helper behind it.
func (c *command) failure(f *author.Failure, indent string) {
	for lead := ""; f != nil; f, lead, indent = f.Because, "because ", indent+"  " {
		times := ""
		if f.Times > 1 {
			times = fmt.Sprintf("  (%d times, here the last)", f.Times)
		}
		c.say("%s%s%s:%d:%d  %s%s", indent, lead, f.File, f.Line, f.Column, f.Expression, times)
		for _, v := range f.Values {
			c.say("%s    %s is %s", indent, v.Name, v.Value)
		}
	}
}
