package engine_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// storing lets an engine keep its sessions; engines of one test share the store.
func storing(m event.Store, more func(*engine.Options)) func(*engine.Options) {
	return func(o *engine.Options) {
		o.Store = m
		if more != nil {
			more(o)
		}
	}
}

// nextServer is a server started later over the folder of another one.
func nextServer(t *testing.T, h harness, m event.Store, scenario string, more func(*engine.Options)) harness {
	return newHarness(t, scenario, storing(m, func(o *engine.Options) {
		o.Roots = []string{h.dir}
		if more != nil {
			more(o)
		}
	}))
}

func (h harness) mustFind(id string) *engine.Session {
	h.t.Helper()
	s, err := h.Find(id)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h harness) mustClose() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		h.t.Fatal(err)
	}
}

func count(s *engine.Session, kind event.Kind, part string) int {
	n := 0
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == kind && strings.Contains(string(e.Data), part) {
			n++
		}
	}
	return n
}

const secretPrompt = "look at\nthe  thing"

func TestKeptAfterACrashInATurn(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s, err := h.start(func(p *engine.StartParams) { p.Prompt, p.MaxTurns = secretPrompt, 7 })
	if err != nil {
		t.Fatal(err)
	}
	a := h.action(s)
	before := s.Events(nil, 0)
	m.crash()

	for round := range 3 { // each is a server of its own: the first closes the books
		next := nextServer(t, h, m, askOnce, nil)
		list, err := next.Sessions(t.Context(), false)
		if err != nil || len(list) != 1 || list[0].ID() != s.ID() {
			t.Fatalf("round %d: listed %v, %v", round, list, err)
		}
		kept := next.mustFind(s.ID())
		info := kept.Info()
		if info.State != engine.Failed || info.Params.MaxTurns != 7 || !info.CreatedAt.Equal(s.Info().CreatedAt) || info.Params.Cwd != h.dir {
			t.Errorf("round %d: shown as %+v", round, info)
		}
		if info.Result == nil || !info.Result.IsError || !strings.Contains(info.Result.Result, "the server ended while a turn was under way") {
			t.Errorf("round %d: result %+v", round, info.Result)
		}
		if len(kept.Pending()) != 0 {
			t.Errorf("round %d: a question is open", round)
		}
		kept.Wait(t.Context(), math.MaxInt64) // returns: no turn is under way
		page := kept.Events(nil, 0)
		if len(page.Events) != len(before.Events)+3 || page.Next != before.Next+3 {
			t.Fatalf("round %d: %d events, before the crash %d:\n%s", round, len(page.Events), len(before.Events), dump(kept))
		}
		for i, e := range before.Events {
			if e.ID != page.Events[i].ID || string(e.Data) != string(page.Events[i].Data) {
				t.Errorf("round %d: event %d is another one", round, e.ID)
			}
		}
		if count(kept, event.PermissionResult, `"requestId":"`+a.RequestID) != 1 || !find(kept, event.PermissionResult, `"behavior":"deny","source":"restart"`) {
			t.Errorf("round %d: the question is not told as denied:\n%s", round, dump(kept))
		}
		if count(kept, event.Notice, `"type":"restart"`) != 1 || count(kept, event.Error, "server ended") != 1 {
			t.Errorf("round %d: the end is not told once:\n%s", round, dump(kept))
		}
		if got := kept.Events(&before.Next, 0); len(got.Events) != 3 || got.Events[0].ID != before.Next {
			t.Errorf("round %d: read on from %d: %+v", round, before.Next, got)
		}
	}
	if r, _ := m.Session(s.ID()); r.Title != "look at the thing" || r.State != "error" || r.LastTool != "Bash" {
		t.Errorf("record %+v", r)
	}
}

func TestKeptStates(t *testing.T) {
	cases := []struct {
		name  string
		do    func(h harness, s *engine.Session, m *memoryStore) // after the first turn
		state engine.State
		final bool
		text  string // of the result
	}{
		{"crash when idle", func(_ harness, _ *engine.Session, m *memoryStore) { m.crash() }, engine.Idle, false, "finished"},
		{"end of the server when idle", func(h harness, _ *engine.Session, _ *memoryStore) { h.mustClose() }, engine.Idle, false, "finished"},
		{"cancelled, then the end", func(h harness, s *engine.Session, _ *memoryStore) {
			if err := s.Cancel(context.Background(), "no more", "test"); err != nil {
				h.t.Error(err)
			}
			h.mustClose()
		}, engine.Cancelled, true, "finished"},
		{"cancelled, then a crash at once", func(h harness, s *engine.Session, m *memoryStore) {
			if err := s.Cancel(context.Background(), "no more", "test"); err != nil {
				h.t.Error(err)
			}
			m.crash()
		}, engine.Cancelled, true, "finished"},
	}
	const scenario = `{"turns":[[{"text":"finished"}]]}`
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newMemoryStore()
			h := newHarness(t, scenario, storing(m, nil))
			s := h.mustStart()
			before := h.recorded(s, m)
			c.do(h, s, m)
			kept := nextServer(t, h, m, scenario, nil).mustFind(s.ID())
			i := kept.Info()
			if i.State != c.state || i.Result == nil || i.Result.Result != c.text || i.TotalTurns != before.TotalTurns {
				t.Errorf("shown as %+v, result %+v", i, i.Result)
			}
			if r, _ := m.Session(s.ID()); r.Final != c.final || c.final != (i.CancelledReason == "no more") {
				t.Errorf("final %v, reason %q", r.Final, i.CancelledReason)
			}
		})
	}
}

// TestEndOfTheServerInATurn: a shutdown is no cancel for good.
func TestEndOfTheServerInATurn(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s := h.mustStart()
	h.action(s)
	h.mustClose()
	next := nextServer(t, h, m, askOnce, nil)
	kept := next.mustFind(s.ID())
	if i := kept.Info(); i.State != engine.Idle && i.State != engine.Failed || i.Result == nil { // as the CLI ended its turn
		t.Errorf("shown as %+v", i)
	}
	if count(kept, event.PermissionResult, `"behavior":"deny"`) != 1 {
		t.Errorf("denied more than once:\n%s", dump(kept))
	}
}

func TestKeptSessionsAreNobodyElses(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s := h.mustStart()
	h.action(s)
	beside := nextServer(t, h, m, askOnce, nil)
	if list, err := beside.Sessions(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("a session at work elsewhere is listed: %v, %v", list, err)
	}
	if _, err := beside.Find(s.ID()); engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "another gatehouse server") {
		t.Errorf("found: %v", err)
	}
	m.crash()
	other := newHarness(t, askOnce, storing(m, nil)) // of other roots
	if list, _ := other.Sessions(t.Context(), false); len(list) != 0 {
		t.Error("a session of a folder outside the roots is listed")
	}
	if _, err := other.Find(s.ID()); engine.CodeOf(err) != engine.SessionNotFound {
		t.Errorf("found outside the roots: %v", err)
	}
	if r, _ := m.Session(s.ID()); r.State != "waiting_permission" {
		t.Errorf("a server of other roots touched the record: %s", r.State)
	}
	for _, id := range []string{"", "../x", s.ID() + "/..", strings.Repeat("a", 300)} {
		if _, err := beside.Find(id); engine.CodeOf(err) != engine.SessionNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestKeptSessionTakesNoWork(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s := h.mustStart()
	a := h.action(s)
	m.crash()
	next := nextServer(t, h, m, askOnce, nil)
	kept := next.mustFind(s.ID())
	if _, err := next.Session(s.ID()); engine.CodeOf(err) != engine.SessionNotFound {
		t.Errorf("Session returns a kept one: %v", err)
	}
	for _, fork := range []bool{false, true} {
		_, err := kept.Prompt(t.Context(), engine.ReplyParams{Prompt: "x", Fork: fork})
		if engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "claude_code_check") {
			t.Errorf("prompt: %v", err)
		}
	}
	if err := kept.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); engine.CodeOf(err) != engine.PermissionRequestNotFound {
		t.Errorf("answer: %v", err)
	}
	if kept.ResumeToken() != "" {
		t.Error("a token made of redacted options")
	}
	select {
	case <-kept.Done():
	default:
		t.Error("something of a kept session is not done")
	}
}

func TestForgottenSessionIsKept(t *testing.T) {
	t.Parallel()
	m := newMemoryStore()
	const scenario = `{"turns":[[{"text":"finished"}]]}`
	h := newHarness(t, scenario, storing(m, func(o *engine.Options) { o.IdleTTL = time.Millisecond }))
	s := h.mustStart()
	h.until(s, "forgotten", func() bool { r, _ := m.Session(s.ID()); return !r.Live })
	if _, err := h.Session(s.ID()); engine.CodeOf(err) != engine.SessionNotFound {
		t.Fatalf("not forgotten: %v", err)
	}
	kept := h.mustFind(s.ID())
	if i := kept.Info(); i.State != engine.Idle || i.Result == nil || i.Result.Result != "finished" {
		t.Errorf("shown as %+v", i)
	}
	list, err := h.Sessions(t.Context(), false)
	if err != nil || !slices.ContainsFunc(list, func(o *engine.Session) bool { return o.ID() == s.ID() }) {
		t.Errorf("listed %v, %v", list, err)
	}
	if len(s.Events(nil, 0).Events) == 0 {
		t.Error("who still holds the session reads nothing")
	}
}
