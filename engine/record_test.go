package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What happened to a session counts whatever token it is resumed with, and
// whatever server works on it.

// TestBudgetIsSpentOnce, also by sessions that leave no transcript of their own.
func TestBudgetIsSpentOnce(t *testing.T) {
	state, no := t.TempDir(), false
	p, _ := ended(t, state, func(p *engine.StartParams) { p.MaxBudgetUSD = 0.0015 }) // a turn costs 0.001
	p.Options.PersistSession = &no
	resumes := 0
	for range 4 {
		h := over(t, state, resumeScenario, p.Options.Cwd, nil)
		s, err := h.Resume(t.Context(), p)
		if err == nil {
			resumes++
			h.settled(s)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if resumes != 1 {
		t.Errorf("resumed %d times on what was left of a budget for one turn", resumes)
	}
}

// TestRecordedRulesBindOldTokens: a token made before an answer forbade a tool.
func TestRecordedRulesBindOldTokens(t *testing.T) {
	const scenario = `{"turns": [[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}}]], "resume_turns": [[{"reveal": "args"}]]}`
	state := t.TempDir()
	h := newHarness(t, scenario, disk(state, nil))
	s := h.mustStart()
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	if err := s.Answer(t.Context(), engine.Answer{RequestID: h.action(s).RequestID, Allow: true, Approver: "human", UpdatedPermissions: rule("deny", "WebFetch")}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := over(t, state, scenario, h.dir, nil)
	resumed, err := later.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := later.settled(resumed).Result.Result; !strings.Contains(got, "--disallowedTools=WebFetch") {
		t.Errorf("the rule is lost: %s", got)
	}
}

// TestTwoServersShareASession: what one does to it, the other knows before its
// own next turn.
func TestTwoServersShareASession(t *testing.T) {
	state := t.TempDir()
	a := newHarness(t, resumeScenario, disk(state, func(o *engine.Options) { o.WarmTTL = time.Millisecond }))
	s := a.mustStart()
	first := a.settled(s)
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = a.dir
	free := func() bool {
		left, _ := os.ReadDir(filepath.Join(state, "sessions"))
		return len(left) == 0
	}
	a.until(s, "end of its process", free) // the sweeper's work, seconds

	b := over(t, state, resumeScenario, a.dir, nil)
	elsewhere, err := b.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	b.settled(elsewhere)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "again"}); err != nil {
		t.Fatal(err)
	}
	if got := a.settled(s).TotalTurns; got != 3*first.TotalTurns {
		t.Errorf("turns %d, want the other server's too, %d", got, 3*first.TotalTurns)
	}
	a.until(s, "end of its process", free)

	c := over(t, state, resumeScenario, a.dir, nil)
	ending, err := c.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	c.settled(ending)
	if err := ending.Cancel(t.Context(), "for good", "client"); err != nil {
		t.Fatal(err)
	}
	<-ending.Done()
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "again"}); err != nil {
		t.Fatal(err)
	}
	if info := a.settled(s); !info.Result.IsError || !strings.Contains(info.Result.Result, "CANCELLED") {
		t.Errorf("a session that another server cancelled went on: %+v", info.Result)
	}
	if _, err := over(t, state, resumeScenario, a.dir, nil).Resume(t.Context(), p); engine.CodeOf(err) != engine.CancelledCode {
		t.Errorf("and its record was written over: %v", err)
	}
}

// TestCancelThatCannotBeKept says so: the caller may want to try again.
func TestCancelThatCannotBeKept(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "resumable"), nil, 0o600); err != nil { // no folder can be put in its place
		t.Fatal(err)
	}
	h := newHarness(t, resumeScenario, disk(state, nil))
	s := h.mustStart()
	h.settled(s)
	if err := s.Cancel(t.Context(), "enough", "client"); engine.CodeOf(err) != engine.Internal || !strings.Contains(err.Error(), "may revive it") {
		t.Errorf("a cancel that could not be kept: %v", err)
	}
	if !find(s, event.Notice, `"type":"record"`) {
		t.Errorf("and nobody is told:\n%s", dump(s))
	}
}

// TestShorterLifeOfTokens: lowering the limit counts for tokens that are out,
// and drops no record they need.
func TestShorterLifeOfTokens(t *testing.T) {
	state := t.TempDir()
	p, _ := ended(t, state, nil)
	time.Sleep(1100 * time.Millisecond) // a token tells its age in seconds
	h := over(t, state, resumeScenario, p.Options.Cwd, func(o *engine.Options) { o.ResumeTTL = time.Nanosecond })
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("a token older than the limit: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(state, "resumable")); err != nil || len(left) != 1 {
		t.Errorf("records %v, %v", left, err)
	}
}

func TestResumingNeedsAStateFolder(t *testing.T) {
	_, err := engine.New(engine.Options{Roots: []string{t.TempDir()}, DiskResume: true})
	if err == nil || !strings.Contains(err.Error(), "StateDir") {
		t.Errorf("an engine that could not keep what tokens must not undo: %v", err)
	}
}
