package cli

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Each step waits its time, and no step is taken for a process that has ended.
func TestLadder(t *testing.T) {
	const never = time.Hour
	for _, tt := range []struct {
		name  string
		dies  time.Duration // after the first step
		steps []string
		took  time.Duration
	}{
		{"at the end of input", 300 * time.Millisecond, []string{"stdin"}, 300 * time.Millisecond},
		{"at the last moment of it", afterStdin - time.Millisecond, []string{"stdin"}, afterStdin - time.Millisecond},
		{"of SIGINT", afterStdin + time.Second, []string{"stdin", "interrupt"}, afterStdin + time.Second},
		{"of SIGTERM", afterStdin + afterSIGINT + time.Second, []string{"stdin", "interrupt", "terminate"}, afterStdin + afterSIGINT + time.Second},
		{"of nothing", never, []string{"stdin", "interrupt", "terminate"}, afterStdin + afterSIGINT + afterTERM},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Process{done: make(chan struct{})}
			var steps []string
			note := func(name string) func() { return func() { steps = append(steps, name) } }
			die := time.AfterFunc(tt.dies, func() { close(p.done) })
			defer die.Stop()
			began := time.Now()
			ladder{nil, p.ended, note("stdin"), note("interrupt"), note("terminate")}.climb()
			if took := time.Since(began); took != tt.took || !slices.Equal(steps, tt.steps) {
				t.Errorf("%s: steps %v in %s, want %v in %s", tt.name, steps, took, tt.steps, tt.took)
			}
		})
	}
	if total := time.Second + afterStdin + afterSIGINT + afterTERM + sweepFor; total > 8*time.Second {
		t.Errorf("a stop can take %s", total) // the first second is the engine's interrupt request
	}
}

// Who is in a hurry skips what is left of the steps before SIGTERM, which then gets
// its own time.
func TestLadderInAHurry(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hurry time.Duration // after the first step; < 0: before it
		steps []string
		took  time.Duration
	}{
		{"from the start", -1, []string{"terminate"}, afterHaste},
		{"while the end of input is waited for", time.Second, []string{"stdin", "terminate"}, time.Second + afterHaste},
		{"after SIGINT", afterStdin + time.Second, []string{"stdin", "interrupt", "terminate"}, afterStdin + time.Second + afterHaste},
		{"after SIGTERM", afterStdin + afterSIGINT + time.Second, []string{"stdin", "interrupt", "terminate"}, afterStdin + afterSIGINT + afterTERM},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Process{done: make(chan struct{}), hurry: make(chan struct{})}
			var steps []string
			note := func(name string) func() { return func() { steps = append(steps, name) } }
			if tt.hurry < 0 {
				close(p.hurry)
			} else {
				defer time.AfterFunc(tt.hurry, func() { close(p.hurry) }).Stop()
			}
			began := time.Now()
			ladder{p.hurry, p.ended, note("stdin"), note("interrupt"), note("terminate")}.climb()
			if took := time.Since(began); took != tt.took || !slices.Equal(steps, tt.steps) {
				t.Errorf("%s: steps %v in %s, want %v in %s", tt.name, steps, took, tt.steps, tt.took)
			}
		})
	}
}
