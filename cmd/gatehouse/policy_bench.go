package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// benchResult is the object of --json. Times are nanoseconds.
type benchResult struct {
	OK         bool          `json:"ok"`
	Runs       int           `json:"runs"`
	Load       int64         `json:"load"`                 // of all policies, compiled from text where they are not built in
	Decision   benchRow      `json:"decision"`             // whole
	Remembered *benchRow     `json:"remembered,omitempty"` // an answer that still holds; absent when no rule says so (cache)
	Stages     []benchRow    `json:"stages"`               // its parts
	Lines      []author.Cost `json:"lines"`                // the most expensive ones
	Effect     string        `json:"effect"`               // what was decided
	Rule       string        `json:"rule"`                 //
	Warnings   []string      `json:"warnings,omitempty"`   // where a rule costs most
	Next       nextStep      `json:"next"`
}

// benchRow is one thing measured.
type benchRow struct {
	Name   string `json:"name"`
	P50    int64  `json:"p50"`
	P99    int64  `json:"p99"`
	Allocs int64  `json:"allocations,omitempty"` // of one run, average; 0 = not measured
}

// Bounds of -n.
const (
	defaultBenchRuns = 2000
	maxBenchRuns     = 1_000_000
	profileRuns      = 200
	costliestLines   = 10
)

// policyBench measures one decision.
func (c *command) policyBench(ctx context.Context, args []string) int {
	o := c.policyFlags("bench ['COMMAND' | --tool TOOL --input JSON]",
		"Measures one decision of the policies in force, part by part, and names the lines that cost most.")
	k := c.callFlags(o)
	n := o.flags.Int("n", defaultBenchRuns, "how many `runs`")
	if code, done := o.parse(args); done {
		return code
	}
	if len(o.rest) == 0 && k.tool == "" {
		o.rest = []string{"git status --short && cat README.md"}
	}
	switch {
	case k.document != "" || k.entrypoint != "" && k.entrypoint != string(policy.EntryPermission):
		return c.failPolicy(o, errors.New("policy bench measures calls: give a command, or --tool and --input"))
	case *n < 1 || *n > maxBenchRuns:
		return c.failPolicy(o, fmt.Errorf("-n %d is out of bounds, want 1 to %d", *n, maxBenchRuns))
	}
	out, err := k.bench(ctx, *n)
	if err != nil {
		return c.failPolicy(o, err)
	}
	return k.benched(out)
}

func (k *policyCall) bench(ctx context.Context, n int) (out benchResult, err error) {
	if err := k.load(ctx); err != nil {
		return out, err
	}
	began := time.Now()
	if _, err := loadPolicies(ctx, k.settings, slog.New(slog.DiscardHandler)); err != nil {
		return out, err
	}
	out = benchResult{OK: true, Runs: n, Load: int64(time.Since(began))}
	r, err := k.request()
	if err != nil {
		return out, err
	}
	first, _ := k.set.Decide(ctx, r) // the error is always nil, see there
	again, _ := k.set.Decide(ctx, r)
	out.Effect, out.Rule = first.Effect.String(), first.Rule
	i, fresh := 0, r
	out.Decision = measured("whole decision", n, func() {
		i++
		fresh.Session.Model = strconv.Itoa(i) // no answer holds for another model
		_, _ = k.set.Decide(ctx, fresh)
	})
	if first.DecisionID == again.DecisionID {
		hit := measured("remembered", n, func() { _, _ = k.set.Decide(ctx, r) })
		out.Remembered = &hit
	}
	if out.Stages, err = k.stages(ctx, r, n); err != nil {
		return out, err
	}
	if out.Lines, err = k.costs(ctx, r); err != nil {
		return out, err
	}
	out.warn()
	return out, ctx.Err()
}

// measured runs f n times.
func measured(name string, n int, f func()) benchRow {
	f() // caches
	times := make([]int64, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range times {
		began := time.Now()
		f()
		times[i] = int64(time.Since(began))
	}
	runtime.ReadMemStats(&after)
	row := rowOf(name, times)
	row.Allocs = int64(after.Mallocs-before.Mallocs) / int64(n)
	return row
}

func rowOf(name string, times []int64) benchRow {
	slices.Sort(times)
	return benchRow{Name: name, P50: times[len(times)/2], P99: times[len(times)*99/100]}
}

// stages measures the parts of a decision.
func (k *policyCall) stages(ctx context.Context, r permission.Request, n int) ([]benchRow, error) {
	times := map[string][]int64{}
	var names []string
	add := func(name string, took time.Duration) {
		if times[name] == nil {
			names = append(names, name)
		}
		times[name] = append(times[name], int64(took))
	}
	for range n {
		s, err := k.set.Measure(ctx, r)
		if err != nil {
			return nil, err
		}
		add("decode input", s.Decode)
		add("facts", s.Facts)
		add("document", s.Document)
		for _, l := range s.Layers {
			add("layer "+l.Name, l.Took)
		}
		add("composition", s.Compose)
	}
	rows := make([]benchRow, len(names))
	for i, name := range names {
		rows[i] = rowOf(name, times[name])
	}
	return rows, nil
}

// costs are the most expensive lines of all layers.
func (k *policyCall) costs(ctx context.Context, r permission.Request) ([]author.Cost, error) {
	document, err := k.set.Document(r)
	if err != nil {
		return nil, err
	}
	all := []author.Cost{}
	for _, m := range k.modules(document) {
		some, err := author.Costs(ctx, m, policy.EntryPermission, document, profileRuns, costliestLines)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b author.Cost) int { return int(b.Nanos - a.Nanos) })
	return all[:min(len(all), costliestLines)], nil
}
