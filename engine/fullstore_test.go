package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func TestStartNeedsItsPlace(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	m.failing("create")
	if _, err := h.start(nil); engine.CodeOf(err) != engine.Internal || !strings.Contains(err.Error(), "engine.store") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("started: %v", err)
	}
	if list, _ := h.Sessions(t.Context(), false); len(list) != 0 {
		t.Errorf("%d sessions are there", len(list))
	}
	m.failing()
	if _, err := h.start(nil); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestResumeNeedsItsPlace(t *testing.T) {
	for _, op := range []string{"open", "put", "sync"} {
		t.Run(op, func(t *testing.T) {
			state, m := t.TempDir(), newMemoryStore()
			p, before := crashed(t, state, m, nil)
			h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
			m.failing(op)
			if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.Internal || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("resumed: %v", err)
			}
			m.failing()
			s, err := h.Resume(t.Context(), p)
			if err != nil {
				t.Fatalf("with room again: %v", err)
			}
			if got := h.settled(s); got.TotalTurns != 2*before.TotalTurns {
				t.Errorf("%d turns", got.TotalTurns)
			}
		})
	}
}

// TestFullStore: no call runs that cannot be told of, denies are answered, replies
// are refused, and with room again all is as before.
func TestFullStore(t *testing.T) {
	const scenario = `{"turns":[[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"SEEN"}},{"text":"one"}],
		[{"tool":{"name":"Bash","input":{"command":"x"},"output":"SEEN"}},{"tool":{"name":"Write","input":{"file_path":"x","content":"y"},"output":"SEEN"}},{"text":"two"}],
		[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"AGAIN"}},{"text":"three"}]]}`
	for _, op := range []string{"append", "put"} {
		t.Run(op, func(t *testing.T) {
			m := newMemoryStore()
			h := newHarness(t, scenario, storing(m, nil))
			s := h.mustStart()
			h.settled(s)
			if count(s, event.ToolResult, "SEEN") != 1 {
				t.Fatalf("the call did not run:\n%s", dump(s))
			}
			m.failing(op)
			if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
				t.Fatal(err) // nothing has failed yet
			}
			a := h.action(s)
			if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
				t.Fatal(err)
			}
			if i := h.settled(s); i.Result.Result != "two" {
				t.Errorf("the turn did not end: %+v", i.Result)
			}
			if count(s, event.ToolResult, "SEEN") != 1 {
				t.Errorf("a call ran that could not be recorded:\n%s", dump(s))
			}
			if !find(s, event.PermissionResult, `"engine.store"`) || !find(s, event.PermissionResult, `"test.deny"`) {
				t.Errorf("the denials are not told:\n%s", dump(s))
			}
			if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); engine.CodeOf(err) != engine.Internal || !strings.Contains(err.Error(), "engine.store") {
				t.Errorf("reply: %v", err)
			}
			m.failing()
			if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
				t.Fatalf("reply with room again: %v", err)
			}
			h.recorded(s, m)
			if count(s, event.ToolResult, "AGAIN") != 1 {
				t.Errorf("with room again the call does not run:\n%s", dump(s))
			}
			r, _ := m.Session(s.ID())
			if next := s.Events(nil, 0).Next; r.Next != next || r.State != "idle" {
				t.Errorf("the store has %d events of %d, state %s", r.Next, next, r.State)
			}
		})
	}
}

func TestKeptSessionThatCannotBeClosed(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s := h.mustStart()
	h.action(s)
	m.crash()
	next := nextServer(t, h, m, askOnce, nil)
	for _, op := range []string{"append", "put"} {
		m.failing(op)
		kept := next.mustFind(s.ID())
		if i := kept.Info(); i.State != engine.Failed || i.Result == nil || !i.Result.IsError || len(kept.Pending()) != 0 {
			t.Errorf("%s fails: shown as %+v", op, i)
		}
	}
	m.failing()
	kept := next.mustFind(s.ID())
	if count(kept, event.Error, "server ended") != 1 || count(kept, event.Notice, `"type":"restart"`) != 1 || count(kept, event.PermissionResult, `"source":"restart"`) != 1 {
		t.Errorf("closed anew, the end is not told once:\n%s", dump(kept))
	}
	if r, _ := m.Session(s.ID()); r.State != "error" {
		t.Errorf("record %+v", r)
	}
}

func TestProcessLimit(t *testing.T) {
	const scenario = `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"text":"one"}]],"resume_turns":[[{"text":"two"}]]}`
	h := newHarness(t, scenario, func(o *engine.Options) { o.MaxProcesses, o.WarmTTL = 1, time.Millisecond })
	s := h.mustStart()
	a := h.action(s)
	if _, err := h.start(nil); engine.CodeOf(err) != engine.Limit || !strings.Contains(err.Error(), "ulimit -n") || !strings.Contains(err.Error(), "1 CLIs") {
		t.Errorf("a second one: %v", err)
	}
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if err := s.Cancel(t.Context(), "make room", "test"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	other, err := h.start(nil)
	if err != nil {
		t.Fatalf("with room again: %v", err)
	}
	h.action(other)
}

// TestClosingTheBooksIsCutShort: wherever it ends, the next server goes on.
func TestClosingTheBooksIsCutShort(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	for after := range 4 { // a denial, a notice, the error and the record
		s := h.mustStart()
		h.action(s)
		m.crash()
		m.failingAfter(after)
		nextServer(t, h, m, askOnce, nil).mustFind(s.ID())
		m.failing()
		kept := nextServer(t, h, m, askOnce, nil).mustFind(s.ID())
		if count(kept, event.Error, "server ended") != 1 || count(kept, event.Notice, `"type":"restart"`) != 1 || count(kept, event.PermissionResult, `"source":"restart"`) != 1 {
			t.Errorf("cut short after %d writes, the end is not told once:\n%s", after, dump(kept))
		}
		if r, _ := m.Session(s.ID()); r.State != "error" || kept.Info().Result == nil {
			t.Errorf("cut short after %d writes: record %+v", after, r)
		}
	}
}

// TestBooksAreClosedUnasked: readers of the store alone find no session at work.
func TestBooksAreClosedUnasked(t *testing.T) {
	t.Parallel()
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s := h.mustStart()
	h.action(s)
	m.crash()
	next := nextServer(t, h, m, askOnce, nil)
	next.until(s, "closed", func() bool { r, _ := m.Session(s.ID()); return r.State == "error" && !r.Live })
}
