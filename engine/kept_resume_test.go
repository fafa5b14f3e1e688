package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// crashed starts a session and lets its server die; change is for its options.
func crashed(t *testing.T, state string, m *memoryStore, change func(*engine.StartParams)) (engine.ResumeParams, engine.Info) {
	t.Helper()
	h := newHarness(t, resumeScenario, disk(state, storing(m, nil)))
	if err := os.Mkdir(filepath.Join(h.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := h.start(change)
	if err != nil {
		t.Fatal(err)
	}
	h.recorded(s, m)
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	m.crash()
	h.mustClose() // its processes; what it writes now is lost
	return p, s.Info()
}

func TestResumeContinuesTheHistory(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, before := crashed(t, state, m, nil)
	first, _ := m.Session(before.ID)
	h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	info := h.recorded(s, m)
	if info.TotalTurns != 2*before.TotalTurns || !info.CreatedAt.Equal(first.Created) {
		t.Errorf("%d turns since %s, want %d since %s", info.TotalTurns, info.CreatedAt, 2*before.TotalTurns, first.Created)
	}
	page := s.Events(nil, 0)
	for i, e := range page.Events {
		if e.ID != int64(i) {
			t.Fatalf("event %d has id %d", i, e.ID)
		}
	}
	if page.Next <= first.Next || count(s, event.Result, "") != 2 {
		t.Errorf("%d events, %d before:\n%s", page.Next, first.Next, dump(s))
	}
	if r, _ := m.Session(s.ID()); r.State != "idle" || r.Title != first.Title || r.Turns != info.TotalTurns || r.Next != page.Next {
		t.Errorf("record %+v", r)
	}
}

func TestForkOfAKeptSession(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, before := crashed(t, state, m, nil)
	h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
	p.Reply.Fork = true
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	r, err := m.Session(s.ID())
	if err != nil || r.Parent != before.ID || r.Title != "go on" {
		t.Errorf("record %+v, %v", r, err)
	}
	if old, _ := m.Session(before.ID); old.Live || old.State != "idle" {
		t.Errorf("the session that was forked: %+v", old)
	}
}

func TestResumeWhereAnotherServerWrites(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, before := crashed(t, state, m, nil)
	writer, err := m.Open(before.ID) // a server without our state folder
	if err != nil {
		t.Fatal(err)
	}
	h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.SessionBusy || !strings.Contains(err.Error(), "kept by another gatehouse server") {
		t.Errorf("resumed: %v", err)
	}
	fork := p
	fork.Reply.Fork = true
	s, err := h.Resume(t.Context(), fork)
	if err != nil {
		t.Fatalf("fork: %v", err)
	}
	h.settled(s)
	writer.Close()
	if s, err = h.Resume(t.Context(), p); err != nil {
		t.Fatalf("once it is free: %v", err)
	}
	h.settled(s)
}

// TestCancelOfAKeptSession: nothing revives it, by any token.
func TestCancelOfAKeptSession(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, before := crashed(t, state, m, nil)
	h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
	kept := h.mustFind(before.ID)
	if err := kept.Cancel(t.Context(), "enough of it", "test"); err != nil {
		t.Fatal(err)
	}
	if i := kept.Info(); i.State != engine.Cancelled || i.CancelledReason != "enough of it" || i.CancelledSource != "test" {
		t.Errorf("shown as %+v", i)
	}
	again := h.mustFind(before.ID)
	if i := again.Info(); i.State != engine.Cancelled || i.CancelledReason != "enough of it" || count(again, event.Notice, `"type":"cancelled"`) != 1 {
		t.Errorf("shown later as %+v:\n%s", i, dump(again))
	}
	if err := again.Cancel(t.Context(), "x", "test"); engine.CodeOf(err) != engine.CancelledCode {
		t.Errorf("cancelled twice: %v", err)
	}
	for _, fork := range []bool{false, true} {
		p.Reply.Fork = fork
		if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.CancelledCode {
			t.Errorf("resumed (fork %v): %v", fork, err)
		}
	}
	other := over(t, t.TempDir(), resumeScenario, p.Options.Cwd, storing(m, nil)) // whose resume records are elsewhere
	if _, err := other.Resume(t.Context(), p); engine.CodeOf(err) != engine.CancelledCode {
		t.Errorf("resumed with the store's word alone: %v", err)
	}
	list, err := m.Sessions()
	if err != nil || len(list) != 1 {
		t.Errorf("refused resumes left %d sessions, %v", len(list), err)
	}
}

// TestCeilingAfterARestart: the store changes nothing about what a token signs.
func TestCeilingAfterARestart(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, _ := crashed(t, state, m, func(p *engine.StartParams) {
		p.MaxTurns, p.MaxBudgetUSD, p.AllowedTools, p.DisallowedTools = 5, 2, []string{"Read"}, []string{"WebFetch"}
		p.AdditionalDirs = []string{"sub"}
	})
	cases := []struct {
		name    string
		change  func(*engine.StartParams)
		refused string // part of the error; empty: taken
	}{
		{"wider turns", func(o *engine.StartParams) { o.MaxTurns = 6 }, "maxTurns"},
		{"wider budget", func(o *engine.StartParams) { o.MaxBudgetUSD = 3 }, "maxBudgetUsd"},
		{"another tool", func(o *engine.StartParams) { o.AllowedTools = []string{"Write"} }, "allowedTools"},
		{"another folder", func(o *engine.StartParams) { o.AdditionalDirs = []string{"."} }, "additionalDirectories"},
		{"a variable", func(o *engine.StartParams) { o.Env = map[string]string{"CI": "1"} }, "env.CI"},
		{"a server", func(o *engine.StartParams) { o.McpServers = []byte(`{"x":{"command":"x"}}`) }, "mcpServers"},
		{"fewer turns", func(o *engine.StartParams) { o.MaxTurns = 3 }, ""},
		{"the same", func(o *engine.StartParams) { o.MaxTurns, o.AllowedTools = 5, []string{"Read"} }, ""},
		{"more denied", func(o *engine.StartParams) { o.DisallowedTools = []string{"Bash"} }, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
			q := p
			c.change(&q.Options)
			s, err := h.Resume(t.Context(), q)
			if c.refused != "" {
				if engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want one about %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if i := h.settled(s); !strings.Contains(i.Result.Result, "--disallowedTools=WebFetch") {
				t.Errorf("what was denied is allowed: %s", i.Result.Result)
			}
			h.mustClose()
		})
	}
}

// TestResumeThatFails leaves the kept session as it was.
func TestResumeThatFails(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, before := crashed(t, state, m, nil)
	h := over(t, state, `{"unknown_resume": true}`, p.Options.Cwd, storing(m, nil))
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.SessionNotFound {
		t.Fatalf("resumed: %v", err)
	}
	h.mustClose()
	next := over(t, state, resumeScenario, p.Options.Cwd, storing(m, nil))
	if i := next.mustFind(before.ID).Info(); i.State != engine.Idle || i.Result == nil || i.TotalTurns != before.TotalTurns {
		t.Errorf("shown as %+v", i)
	}
	s, err := next.Resume(t.Context(), p)
	if err != nil {
		t.Fatalf("a later resume: %v", err)
	}
	next.settled(s)
}

func TestReplyToAKeptSessionWithoutDiskResume(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, _ := crashed(t, state, m, nil)
	h := newHarness(t, resumeScenario, storing(m, func(o *engine.Options) { o.Roots = append(o.Roots, p.Options.Cwd) }))
	_, err := h.Resume(t.Context(), p)
	for _, want := range []string{"claude_code_check", "CLAUDE_CODE_MCP_ALLOW_DISK_RESUME"} {
		if engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that names %s", err, want)
		}
	}
}
