package main

import (
	"fmt"
)

// warnShare is the part of all profiled lines above which one is told of.
const warnShare = 0.25

// warn names lines of the user's own policies that take most of the time.
func (r *benchResult) warn() {
	var total int64
	for _, l := range r.Lines {
		total += l.Nanos
	}
	for _, l := range r.Lines {
		if l.Layer != "builtin" && float64(l.Nanos) > warnShare*float64(total) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s:%d takes more than a quarter of the time of the lines below; put a condition on the tool or the command before it", l.File, l.Line))
		}
	}
	r.Next = nextStep{"gatehouse policy lint", "finds patterns that are tried at every call"}
}

func (k *policyCall) benched(out benchResult) int {
	if k.o.json {
		if err := k.printJSON(out); err != nil {
			return k.fail(policyWrong, err)
		}
		return policyYes
	}
	k.say("%s  p50, %s p99, %d allocations a decision (%s %s, %d runs)", micros(out.Decision.P50), micros(out.Decision.P99),
		out.Decision.Allocs, out.Effect, out.Rule, out.Runs)
	k.say("  %-18s%12s%12s", "", "p50", "p99")
	for _, s := range out.Stages {
		k.say("  %-18s%12s%12s", s.Name, micros(s.P50), micros(s.P99))
	}
	if out.Remembered != nil {
		k.say("  %-18s%12s%12s", "remembered", micros(out.Remembered.P50), micros(out.Remembered.P99))
	} else {
		k.say("  %-18s no rule says that its answer holds (cache)", "remembered")
	}
	k.say("  %-18s%12s", "load", micros(out.Load))
	for _, w := range out.Warnings {
		k.say("warning: %s", w)
	}
	k.say("lines that cost most, as a profiler sees them")
	for _, l := range out.Lines {
		k.say("  %12s  %4d×  %s:%d  %s", micros(l.Nanos), l.Evals, l.File, l.Line, cut(l.Text, reasonShown))
	}
	k.next("%s", out.Next)
	return policyYes
}

// micros writes nanoseconds as microseconds, or milliseconds where they are many.
func micros(n int64) string {
	if n >= 10_000_000 {
		return fmt.Sprintf("%.1f ms", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f µs", float64(n)/1e3)
}
