package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// idsInOrder checks that a history has no gap and no id twice.
func idsInOrder(t *testing.T, s *engine.Session) {
	t.Helper()
	for i, e := range s.Events(nil, 0).Events {
		if e.ID != int64(i) {
			t.Fatalf("event %d has id %d:\n%s", i, e.ID, dump(s))
		}
	}
}

func TestContinueOfARunningServersSession(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"text":"one"}],[{"text":"two"}]],"resume_turns":[[{"text":"copy"}]]}`, nil)
	first := h.mustBegin(nil)
	h.mustWait(first)
	id := first.Session().ID()
	if r := h.mustWait(h.mustContinue(id, "more")); r.Result != "two" || r.SessionID != id {
		t.Errorf("result %+v", r)
	}
	fork, err := h.Continue(t.Context(), id, engine.ReplyParams{Prompt: "copy", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := h.mustWait(fork); r.Result != "copy" || r.SessionID == id || fork.Session().Info().ParentID != id {
		t.Errorf("fork %+v", r)
	}
	for _, unknown := range []string{"", "x", "44444444-4444-4444-8444-444444444444"} {
		if _, err := h.Continue(t.Context(), unknown, engine.ReplyParams{Prompt: "x"}); engine.CodeOf(err) != engine.SessionNotFound {
			t.Errorf("%q: %v", unknown, err)
		}
	}
	if _, err := h.Continue(t.Context(), id, engine.ReplyParams{Prompt: " "}); engine.CodeOf(err) != engine.InvalidArgument {
		t.Errorf("a blank prompt: %v", err)
	}
}

func TestContinueOfAStoppedSession(t *testing.T) {
	for name, store := range map[string]bool{"kept": true, "in memory": false} {
		t.Run(name, func(t *testing.T) {
			m := newMemoryStore()
			h := newHarness(t, stopScenario, func(o *engine.Options) {
				if store {
					o.Store = m
				}
			})
			first := h.mustBegin(func(p *engine.StartParams) {
				p.MaxTurns, p.AllowedTools, p.DisallowedTools, p.Env = 9, []string{"Read"}, []string{"WebFetch"}, map[string]string{"CI": "1"}
			})
			old := first.Session()
			h.until(old, "output", func() bool { return find(old, event.Output, "at work") })
			h.mustStop(old)
			before := old.Info()
			turn := h.mustContinue(old.ID(), "go on")
			s := turn.Session()
			if s == old || s.ID() != old.ID() || turn.From() != *before.LastEventID+1 {
				t.Errorf("session %s from event %d, want %s from %d", s.ID(), turn.From(), old.ID(), *before.LastEventID+1)
			}
			if r := h.mustWait(turn); r.IsError || r.SessionTotalTurns <= before.TotalTurns {
				t.Errorf("result %+v", r)
			}
			i := s.Info()
			for _, want := range []string{"--resume=" + s.ID(), "--max-turns=9", "--disallowedTools=WebFetch"} {
				if !strings.Contains(i.Result.Result, want) {
					t.Errorf("the CLI was started without %s: %s", want, i.Result.Result)
				}
			}
			if !i.CreatedAt.Equal(before.CreatedAt) || i.State != engine.Idle || !i.CancelledAt.IsZero() || i.Params.Env["CI"] != "1" || i.Prompts != before.Prompts+1 {
				t.Errorf("shown as %+v, before %+v", i, before)
			}
			idsInOrder(t, s)
			if r := h.mustWait(h.mustContinue(s.ID(), "and more")); r.Result != "more" {
				t.Errorf("a reply later: %+v", r)
			}
			for range 2 { // stopped and continued again
				h.mustStop(s)
				stoppedNow(t, s)
				turn = h.mustContinue(s.ID(), "go on")
				h.mustWait(turn)
				s = turn.Session()
			}
			idsInOrder(t, s)
			if list, err := h.Sessions(t.Context(), false); err != nil || len(list) != 1 || list[0] != s {
				t.Errorf("listed %v, %v", list, err)
			}
			h.mustClose()
			if r, err := m.Session(s.ID()); store && (err != nil || r.Live || r.State != "idle" || r.Next != s.Events(nil, 0).Next) {
				t.Errorf("record %+v, %v", r, err)
			}
		})
	}
}

// TestContinueOfOneThatNeverBegan starts it anew, under its id.
func TestContinueOfOneThatNeverBegan(t *testing.T) {
	h := newHarness(t, stopScenario, func(o *engine.Options) { o.MaxConcurrent, o.Store = 1, newMemoryStore() })
	busy := h.mustBegin(nil).Session()
	h.until(busy, "output", func() bool { return find(busy, event.Output, "at work") })
	waiting := h.mustBegin(nil).Session()
	h.mustStop(waiting)
	h.mustStop(busy)
	s := h.mustContinue(waiting.ID(), "go on").Session()
	h.until(s, "output of the first turn", func() bool { return find(s, event.Output, "at work") })
	idsInOrder(t, s)
	h.mustStop(s)
}

// TestTwoContinues: one of them goes on with the session, the other is told so.
func TestTwoContinues(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, stopScenario, storing(m, nil))
	s := h.mustBegin(nil).Session()
	h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
	h.mustStop(s)
	takenUpOnce(t, h, s.ID())
	h.mustClose()
	next := nextServer(t, h, m, stopScenario, nil)
	takenUpOnce(t, next, s.ID())
	idsInOrder(t, next.mustFind(s.ID()))
}

func takenUpOnce(t *testing.T, h harness, id string) {
	t.Helper()
	var mu sync.Mutex
	var turns []*engine.Turn
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			turn, err := h.Continue(within(t), id, engine.ReplyParams{Prompt: "go on"})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				turns = append(turns, turn)
			case engine.CodeOf(err) != engine.SessionBusy:
				t.Errorf("the one who lost: %v", err)
			}
		})
	}
	all.Wait()
	if len(turns) == 0 {
		t.Fatal("nobody has continued it")
	}
	for _, turn := range turns { // a later one may have come when the turn was over
		h.mustWait(turn)
		if turn.Session() != turns[0].Session() {
			t.Error("two sessions have one id")
		}
	}
}

// TestContinueOfAnExpiredSession: there is one moment in which it is in memory and
// ended, and then it is only kept.
func TestContinueOfAnExpiredSession(t *testing.T) {
	t.Parallel()
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, func(o *engine.Options) { o.IdleTTL = time.Millisecond }))
	s := h.mustStart()
	h.until(s, "forgotten", func() bool { r, _ := m.Session(s.ID()); return !r.Live })
	if r := h.mustWait(h.mustContinue(s.ID(), "go on")); r.IsError || !strings.Contains(r.Result, "--resume="+s.ID()) {
		t.Errorf("result %+v", r)
	}
}

// TestGrantsEndWithAStop: what a person allowed once more is asked again, and what was
// forbidden stays so.
func TestGrantsEndWithAStop(t *testing.T) {
	const scenario = `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"text":"one"}]],
		"resume_turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"text":"more"}]]}`
	const updates = `[{"type":"addRules","destination":"session","behavior":"allow","rules":[{"toolName":"Bash"}]},
		{"type":"addRules","destination":"session","behavior":"deny","rules":[{"toolName":"WebFetch"}]},
		{"type":"setMode","destination":"session","mode":"acceptEdits"}]`
	m, seen := newMemoryStore(), &factsSeen{rules: rules{"Bash": permission.Ask}}
	judged := func(o *engine.Options) { o.Deciders = []permission.Decider{seen} }
	h := newHarness(t, scenario, storing(m, judged))
	s := h.mustBegin(nil).Session()
	a := h.action(s)
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true, UpdatedPermissions: []byte(updates)}); err != nil {
		t.Fatal(err)
	}
	h.recorded(s, m)
	again := func(h harness) {
		t.Helper()
		turn := h.mustContinue(s.ID(), "go on")
		n := turn.Session()
		if mode := n.Info().Mode; mode != "default" {
			t.Errorf("mode %s", mode)
		}
		a := h.action(n)
		if err := n.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
			t.Fatal(err)
		}
		h.mustWait(turn)
		if f := seen.last(); len(f.AllowedTools) > 0 || len(f.DisallowedTools) != 1 || f.DisallowedTools[0] != "WebFetch" {
			t.Errorf("policy sees allowed %q, disallowed %q", f.AllowedTools, f.DisallowedTools)
		}
	}
	h.mustStop(s)
	again(h)
	h.mustClose()
	again(nextServer(t, h, m, scenario, judged)) // without a resume secret the record alone says so
}

// factsSeen notes what policy sees of the session.
type factsSeen struct {
	rules
	mu    sync.Mutex
	facts permission.Session
}

func (f *factsSeen) Decide(ctx context.Context, r permission.Request) (permission.Decision, error) {
	f.mu.Lock()
	f.facts = r.Session
	f.mu.Unlock()
	return f.rules.Decide(ctx, r)
}

func (f *factsSeen) last() permission.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.facts
}

// owners notes whose session is continued.
type owners struct {
	admitAll
	mu     sync.Mutex
	resume []admission.Request
}

func (o *owners) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Action == admission.Resume {
		o.resume = append(o.resume, r)
	}
	return o.admitAll.Admit(ctx, r)
}

func TestPolicySeesWhoContinues(t *testing.T) {
	seen := &owners{}
	h := newHarness(t, stopScenario, func(o *engine.Options) { o.Admission = []admission.Decider{seen} })
	as := func(name string) context.Context {
		return engine.WithCaller(within(t), permission.Caller{Client: name})
	}
	turn, err := h.Begin(as("a"), engine.StartParams{Prompt: "go", MaxTurns: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := turn.Session()
	for _, who := range []string{"a", "b", "b"} {
		h.until(s, "something to stop", func() bool { return s.Info().LastEventID != nil })
		h.mustStop(s)
		if turn, err = h.Continue(as(who), s.ID(), engine.ReplyParams{Prompt: "go on"}); err != nil {
			t.Fatal(err)
		}
		s = turn.Session()
	}
	h.mustStop(s)
	for i, owned := range []bool{true, false, true} {
		r := seen.resume[i]
		if r.SessionID != s.ID() || r.Target.OwnedByPeer != owned || r.Target.State != "cancelled" || string(r.Parameters["maxTurns"]) != "4" || string(r.Parameters["prompt"]) != `"go on"` {
			t.Errorf("asked %+v", r)
		}
	}
}

// TestResumeOfAStoppedSession: its token takes it up too, while it is in memory.
func TestResumeOfAStoppedSession(t *testing.T) {
	for name, store := range map[string]bool{"kept": true, "in memory": false} {
		t.Run(name, func(t *testing.T) {
			m := newMemoryStore()
			h := newHarness(t, resumeScenario, disk(t.TempDir(), func(o *engine.Options) {
				if store {
					o.Store = m
				}
			}))
			s := h.mustStart()
			before := h.settled(s)
			p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
			p.Options.Cwd = h.dir
			h.mustStop(s)
			for _, fork := range []bool{false, true} {
				if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "x", Fork: fork}); engine.CodeOf(err) != engine.CancelledCode || !strings.Contains(err.Error(), "was stopped (Session stopped)") {
					t.Errorf("a stopped session takes a prompt (fork %v): %v", fork, err)
				}
			}
			n, err := h.Resume(within(t), p)
			if err != nil {
				t.Fatal(err)
			}
			if i := h.settled(n); n.ID() != s.ID() || i.TotalTurns != 2*before.TotalTurns || i.Stopped {
				t.Errorf("shown as %+v", i)
			}
			idsInOrder(t, n)
			if _, err := h.Resume(within(t), p); engine.CodeOf(err) != engine.SessionBusy {
				t.Errorf("resumed while it is there: %v", err)
			}
		})
	}
}

// TestObserversOfAContinuedSession are told of each event once.
func TestObserversOfAContinuedSession(t *testing.T) {
	for _, store := range []event.Store{nil, newMemoryStore()} {
		w := &watching{}
		h := newHarness(t, stopScenario, func(o *engine.Options) { w.use(o); o.Store = store })
		s := h.mustBegin(nil).Session()
		h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
		h.mustStop(s)
		turn := h.mustContinue(s.ID(), "go on")
		h.mustWait(turn)
		h.mustStop(turn.Session())
		told, ended := w.of(s.ID())
		if all := turn.Session().Events(nil, 0).Events; ended != 2 || len(told) != len(all) {
			t.Errorf("%d events were told of %d, the end %d times", len(told), len(all), ended)
		}
		for i, e := range told {
			if e.ID != int64(i) {
				t.Errorf("event %d was told at place %d", e.ID, i)
			}
		}
	}
}

// TestCancelBesideContinue: whoever comes first, a cancel that was confirmed holds.
func TestCancelBesideContinue(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, nil))
	for range 10 {
		s := h.mustStart()
		h.recorded(s, m)
		h.mustStop(s)
		var both sync.WaitGroup
		both.Go(func() {
			if err := s.Cancel(within(t), "for good", "owner"); err != nil {
				t.Errorf("cancel: %v", err)
			}
		})
		var turn *engine.Turn
		both.Go(func() {
			var err error
			if turn, err = h.Continue(within(t), s.ID(), engine.ReplyParams{Prompt: "go on"}); err != nil && engine.CodeOf(err) != engine.CancelledCode {
				t.Errorf("continue: %v", err)
			}
		})
		both.Wait()
		if turn != nil {
			h.mustWait(turn)
		}
		found := h.mustFind(s.ID())
		<-found.Done()
		if i := found.Info(); i.State != engine.Cancelled || i.Stopped || i.CancelledReason != "for good" {
			t.Errorf("shown as %+v", i)
		}
		if r, err := m.Session(s.ID()); err != nil || !r.Final {
			t.Errorf("record %+v, %v", r, err)
		}
	}
}
