package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// stopScenario waits in its first turn until it is interrupted, and says how it was
// started when it is taken up again.
const stopScenario = `{"turns":[[{"text":"at work"},{"wait_interrupt":true}]],"resume_turns":[[{"reveal":"args"}],[{"text":"more"}]]}`

var stop = engine.StopParams{Reason: "Session stopped", Source: "test"}

// within gives calls that wait a time that is never reached.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (h harness) mustBegin(change func(*engine.StartParams)) *engine.Turn {
	h.t.Helper()
	p := engine.StartParams{Prompt: "go"}
	if change != nil {
		change(&p)
	}
	turn, err := h.Begin(within(h.t), p)
	if err != nil {
		h.t.Fatal(err)
	}
	return turn
}

func (h harness) mustContinue(id, prompt string) *engine.Turn {
	h.t.Helper()
	turn, err := h.Continue(within(h.t), id, engine.ReplyParams{Prompt: prompt})
	if err != nil {
		h.t.Fatal(err)
	}
	return turn
}

func (h harness) mustWait(turn *engine.Turn) engine.Result {
	h.t.Helper()
	r, err := turn.Wait(within(h.t))
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h harness) mustStop(s *engine.Session) {
	h.t.Helper()
	if err := s.Stop(within(h.t), stop); err != nil {
		h.t.Fatal(err)
	}
}

// stoppedNow checks what a stop leaves.
func stoppedNow(t *testing.T, s *engine.Session) {
	t.Helper()
	i := s.Info()
	if i.State != engine.Cancelled || i.CancelledReason != stop.Reason || i.CancelledSource != stop.Source || i.CancelledAt.IsZero() || i.Queued {
		t.Errorf("after the stop: %+v", i)
	}
	if len(s.Pending()) != 0 {
		t.Error("a question is open")
	}
	select {
	case <-s.Done():
	default:
		t.Error("something of the session is left")
	}
}

func TestStopPhases(t *testing.T) {
	const deaf = `{"ignore_interrupt":true,"ignore_stdin_close":true,"ignore_sigint":true,"ignore_sigterm":true,"turns":[[{"text":"at work"},{"silence":true}]]}`
	output := func(s *engine.Session) bool { return find(s, event.Output, "at work") }
	cases := []struct {
		name, scenario string
		reached        func(*engine.Session) bool
	}{
		{"at once", stopScenario, func(*engine.Session) bool { return true }},
		{"in the turn", stopScenario, output},
		{"while it asks", askOnce, func(s *engine.Session) bool { return len(s.Pending()) > 0 }},
		{"before init", `{"never_init":true}`, func(*engine.Session) bool { return true }},
		{"deaf", deaf, output},
	}
	for _, force := range []bool{false, true} {
		for _, c := range cases {
			t.Run(c.name+map[bool]string{true: ", by force"}[force], func(t *testing.T) {
				t.Parallel()
				log := &auditNotes{}
				h := newHarness(t, c.scenario, func(o *engine.Options) { o.Audit = log })
				turn := h.mustBegin(func(p *engine.StartParams) { p.SessionInitTimeout = time.Hour })
				s := turn.Session()
				h.until(s, c.name, func() bool { return c.reached(s) })
				how := stop
				how.Force = force
				if err := s.Stop(within(t), how); err != nil {
					t.Fatal(err)
				}
				stoppedNow(t, s)
				if r := h.mustWait(turn); r.Code != engine.CancelledCode || !r.IsError || !strings.Contains(r.Result, stop.Reason) {
					t.Errorf("result %+v", r)
				}
				if c.name == "while it asks" && count(s, event.PermissionResult, `"behavior":"deny"`) != 1 {
					t.Errorf("the denial of the question is not told once:\n%s", dump(s))
				}
				if ends := count(s, event.Error, "") + count(s, event.Result, ""); ends != 1 {
					t.Errorf("the end of the turn is told %d times:\n%s", ends, dump(s))
				}
				if err := s.Stop(within(t), how); err != nil {
					t.Errorf("stopped again: %v", err)
				}
				for _, r := range log.of(audit.SessionEnd, s.ID()) {
					if strings.Contains(string(r.Detail), `"final":true`) || !strings.Contains(string(r.Detail), stop.Reason) {
						t.Errorf("end %s", r.Detail)
					}
				}
			})
		}
	}
}

func TestStopOfAQueuedSession(t *testing.T) {
	h := newHarness(t, stopScenario, func(o *engine.Options) { o.MaxConcurrent = 1 })
	first := h.mustBegin(nil)
	h.until(first.Session(), "output", func() bool { return find(first.Session(), event.Output, "at work") })
	second, third := h.mustBegin(nil), h.mustBegin(nil)
	if !second.Session().Info().Queued {
		t.Fatal("the second does not wait")
	}
	h.mustStop(second.Session())
	stoppedNow(t, second.Session())
	if r := h.mustWait(second); r.Code != engine.CancelledCode {
		t.Errorf("result %+v", r)
	}
	h.mustStop(first.Session())
	h.until(third.Session(), "the slot of the first", func() bool { return find(third.Session(), event.Output, "at work") })
	h.mustStop(third.Session())
}

// TestForceHastensAStop: the graceful one waits for a CLI that does not end by itself.
func TestForceHastensAStop(t *testing.T) {
	const stubborn = `{"ignore_interrupt":true,"ignore_stdin_close":true,"ignore_sigint":true,"turns":[[{"text":"at work"},{"silence":true}]]}`
	h := newHarness(t, stubborn, nil)
	turn := h.mustBegin(nil)
	s := turn.Session()
	h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
	soft, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("waited enough")
	gave := make(chan error, 1)
	go func() { gave <- s.Stop(soft, stop) }() // ends when cancel is called
	h.until(s, "the stop", func() bool { return s.Info().State == engine.Cancelled })
	cancel(enough)
	if err := <-gave; !errors.Is(err, enough) {
		t.Errorf("the stop of one who gave up: %v", err)
	}
	hard := engine.StopParams{Reason: "another reason", Source: "another", Force: true}
	if err := s.Stop(within(t), hard); err != nil {
		t.Fatal(err)
	}
	stoppedNow(t, s) // for the first reason
}

func TestStopAndCancel(t *testing.T) {
	h := newHarness(t, stopScenario, nil)
	s := h.mustBegin(nil).Session()
	h.mustStop(s)
	if err := s.Cancel(t.Context(), "for good", "owner"); err != nil {
		t.Fatalf("cancel of a stopped session: %v", err)
	}
	if i := s.Info(); i.State != engine.Cancelled || i.CancelledReason != "for good" || i.CancelledSource != "owner" {
		t.Errorf("shown as %+v", i)
	}
	h.mustStop(s) // no error, and nothing changes
	if i := s.Info(); i.CancelledReason != "for good" {
		t.Errorf("shown as %+v", i)
	}
	if _, err := h.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "more"}); engine.CodeOf(err) != engine.CancelledCode {
		t.Errorf("continued: %v", err)
	}
	if err := s.Cancel(t.Context(), "again", "owner"); engine.CodeOf(err) != engine.CancelledCode {
		t.Errorf("cancelled twice: %v", err)
	}
}

// TestStoppedStaysStopped: over the end of its server, and over its death.
func TestStoppedStaysStopped(t *testing.T) {
	for name, end := range map[string]func(harness, *memoryStore){
		"end of the server": func(h harness, _ *memoryStore) { h.mustClose() },
		"crash":             func(_ harness, m *memoryStore) { m.crash() },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemoryStore()
			h := newHarness(t, stopScenario, storing(m, nil))
			s := h.mustBegin(nil).Session()
			h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
			h.mustStop(s)
			before := s.Info()
			end(h, m)
			if r, _ := m.Session(s.ID()); r.State != "cancelled" || r.Final {
				t.Errorf("record %+v", r)
			}
			kept := nextServer(t, h, m, stopScenario, nil).mustFind(s.ID())
			i := kept.Info()
			if i.State != engine.Cancelled || i.CancelledReason != stop.Reason || i.CancelledSource != stop.Source || !i.CancelledAt.Equal(before.CancelledAt) {
				t.Errorf("shown as %+v", i)
			}
			if count(kept, event.Error, "") != 1 || count(kept, event.Notice, `"type":"cancelled"`) != 1 {
				t.Errorf("the end is not told once:\n%s", dump(kept))
			}
		})
	}
}

// TestCrashInAStop: the turn that the stop cut off is told as stopped by whoever
// comes next.
func TestCrashInAStop(t *testing.T) {
	const stubborn = `{"ignore_interrupt":true,"ignore_stdin_close":true,"ignore_sigint":true,"turns":[[{"text":"at work"},{"silence":true}]]}`
	m := newMemoryStore()
	h := newHarness(t, stubborn, storing(m, nil))
	s := h.mustBegin(nil).Session()
	h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background(), stop) }() // ends with the process
	h.until(s, "record of the stop", func() bool { r, _ := m.Session(s.ID()); return r.State == "cancelled" })
	m.crash()
	for range 2 {
		kept := nextServer(t, h, m, stubborn, nil).mustFind(s.ID())
		i := kept.Info()
		if i.State != engine.Cancelled || i.CancelledReason != stop.Reason || i.Result == nil || i.Result.Code != engine.CancelledCode {
			t.Errorf("shown as %+v, result %+v", i, i.Result)
		}
		if count(kept, event.Error, stop.Reason) != 1 || count(kept, event.Notice, `"type":"restart"`) != 0 {
			t.Errorf("the end is not told once:\n%s", dump(kept))
		}
	}
	<-stopped // what it could not write does not matter
}

func TestStopOfAKeptSession(t *testing.T) {
	m, log := newMemoryStore(), &auditNotes{}
	h := newHarness(t, stopScenario, storing(m, nil))
	s := h.mustBegin(nil).Session()
	h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
	beside := nextServer(t, h, m, stopScenario, nil)
	if _, err := beside.Find(s.ID()); engine.CodeOf(err) != engine.SessionNotFound {
		t.Errorf("one that lives elsewhere: %v", err)
	}
	m.crash()
	next := nextServer(t, h, m, stopScenario, func(o *engine.Options) { o.Audit = log })
	kept := next.mustFind(s.ID())
	for range 2 {
		h.mustStop(kept)
		stoppedNow(t, kept)
		again := next.mustFind(s.ID())
		stoppedNow(t, again)
		if count(again, event.Notice, `"type":"cancelled"`) != 1 {
			t.Errorf("told more than once:\n%s", dump(again))
		}
		kept = again
	}
	if ends := log.of(audit.SessionEnd, s.ID()); len(ends) != 2 || string(ends[1].Detail) != `{"kept":true,"reason":"`+stop.Reason+`","source":"test"}` {
		t.Errorf("ends %+v", ends) // the first is that of the crash
	}
	if err := kept.Cancel(t.Context(), "for good", "owner"); err != nil {
		t.Fatal(err)
	}
	if i := next.mustFind(s.ID()).Info(); i.CancelledReason != "for good" {
		t.Errorf("shown as %+v", i)
	}
	h.mustStop(next.mustFind(s.ID()))
	if r, _ := m.Session(s.ID()); !r.Final {
		t.Error("a stop has made it one that may go on")
	}
}

// TestStopIsADecision: it is admitted as a cancel.
func TestStopIsADecision(t *testing.T) {
	h := newHarness(t, stopScenario, func(o *engine.Options) { o.Admission = append(o.Admission[:0:0], noCancel{}) })
	s := h.mustBegin(nil).Session()
	if err := s.Stop(within(t), stop); engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "test.no_cancel") {
		t.Errorf("stopped: %v", err)
	}
	if s.Info().State == engine.Cancelled {
		t.Error("it has stopped")
	}
}

// noCancel admits everything else.
type noCancel struct{ admitAll }

func (d noCancel) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	if r.Action == admission.Cancel {
		return permission.Decision{Effect: permission.Deny, Rule: "test.no_cancel"}, nil
	}
	return d.admitAll.Admit(ctx, r)
}
