package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

const resumeScenario = `{"turns": [[{"text": "one"}]], "resume_turns": [[{"reveal": "args"}], [{"text": "more"}]]}`

// disk lets engines resume; both of a test share the state folder.
func disk(state string, more func(*engine.Options)) func(*engine.Options) {
	return func(o *engine.Options) {
		o.DiskResume, o.ResumeSecret, o.StateDir = true, "a secret of this test", state
		if more != nil {
			more(o)
		}
	}
}

// ended starts a session in an engine that is then closed, and returns what a
// client keeps of it.
func ended(t *testing.T, state string, change func(*engine.StartParams)) (engine.ResumeParams, engine.Info) {
	t.Helper()
	h := newHarness(t, resumeScenario, disk(state, nil))
	if err := os.Mkdir(filepath.Join(h.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := h.start(change)
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	token := s.ResumeToken()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Fatal(err)
	}
	p := engine.ResumeParams{SessionID: s.ID(), Token: token, Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	return p, s.Info()
}

// over makes an engine that may work in the folder of a session that ended.
func over(t *testing.T, state, scenario, dir string, more func(*engine.Options)) harness {
	return newHarness(t, scenario, disk(state, func(o *engine.Options) {
		o.Roots = append(o.Roots, dir)
		if more != nil {
			more(o)
		}
	}))
}

func TestResumeFromDisk(t *testing.T) {
	state := t.TempDir()
	p, before := ended(t, state, func(p *engine.StartParams) { p.MaxTurns, p.AllowedTools = 9, []string{"Read"} })
	h := over(t, state, resumeScenario, p.Options.Cwd, nil)
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	after := h.settled(s)
	if s.ID() != before.ID || after.TotalTurns != 2*before.TotalTurns {
		t.Errorf("session %s with %d turns, want %s with %d", s.ID(), after.TotalTurns, before.ID, 2*before.TotalTurns)
	}
	for _, want := range []string{"--resume=" + s.ID(), "--max-turns=9"} {
		if !strings.Contains(after.Result.Result, want) {
			t.Errorf("the CLI was started without %s: %s", want, after.Result.Result)
		}
	}
	if after.Params.AllowedTools != nil {
		t.Error("what ran unasked before runs unasked again, although it was not named")
	}
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "and more"}); err != nil {
		t.Errorf("reply to a resumed session: %v", err)
	}
	h.settled(s)
	if again := s.ResumeToken(); again == "" || again == p.Token {
		t.Error("no new token for the resumed session")
	}
}

func TestForkFromDisk(t *testing.T) {
	state := t.TempDir()
	p, before := ended(t, state, nil)
	h := over(t, state, resumeScenario, p.Options.Cwd, nil)
	p.Reply.Fork, p.At = true, "44444444-4444-4444-8444-444444444444"
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	info := h.settled(s)
	if s.ID() == before.ID || info.ParentID != before.ID || info.TotalTurns != info.Result.NumTurns {
		t.Errorf("fork %s of %s with %d turns", s.ID(), info.ParentID, info.TotalTurns)
	}
	for _, want := range []string{"--resume=" + before.ID, "--fork-session", "--session-id=" + s.ID(), "--resume-session-at=" + p.At} {
		if !strings.Contains(info.Result.Result, want) {
			t.Errorf("the CLI was started without %s: %s", want, info.Result.Result)
		}
	}
}

// noResume admits everything else.
type noResume struct{ admitAll }

func (d noResume) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	if r.Action == admission.Resume {
		return permission.Decision{Effect: permission.Deny, Rule: "test.no_resume", Reason: "maxTurns is " + string(r.Parameters["maxTurns"])}, nil
	}
	return d.admitAll.Admit(ctx, r)
}

func TestResumeRefusals(t *testing.T) {
	state := t.TempDir()
	good, _ := ended(t, state, func(p *engine.StartParams) { p.MaxTurns = 9 })
	other, _ := ended(t, state, nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(good.Options.Cwd, link); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		change   func(*engine.ResumeParams)
		options  func(*engine.Options)
		scenario string
		code     engine.Code
		message  string
	}{
		{"not allowed here", nil, func(o *engine.Options) { o.DiskResume = false }, "", engine.SessionNotFound, "CLAUDE_CODE_MCP_ALLOW_DISK_RESUME"},
		{"no secret", nil, func(o *engine.Options) { o.ResumeSecret = "" }, "", engine.PermissionDenied, "CLAUDE_CODE_MCP_RESUME_SECRET"},
		{"another secret", nil, func(o *engine.Options) { o.ResumeSecret = "another" }, "", engine.PermissionDenied, "another secret"},
		{"no token", func(p *engine.ResumeParams) { p.Token = "" }, nil, "", engine.PermissionDenied, "no resumeToken"},
		{"token of another session", func(p *engine.ResumeParams) { p.Token = other.Token }, nil, "", engine.PermissionDenied, "another session"},
		{"no folder", func(p *engine.ResumeParams) { p.Options.Cwd = " " }, nil, "", engine.InvalidArgument, "cwd is required"},
		{"another folder", func(p *engine.ResumeParams) { p.Options.Cwd = other.Options.Cwd }, nil, "", engine.PermissionDenied, "not the folder"},
		{"wider", func(p *engine.ResumeParams) { p.Options.MaxTurns = 10 }, nil, "", engine.PermissionDenied, "maxTurns is above the 9"},
		{"blank prompt", func(p *engine.ResumeParams) { p.Reply.Prompt = "" }, nil, "", engine.InvalidArgument, "prompt"},
		{"odd message id", func(p *engine.ResumeParams) { p.At = "--dangerous" }, nil, "", engine.InvalidArgument, "resumeSessionAt"},
		{"policy", nil, func(o *engine.Options) { o.Admission = []admission.Decider{noResume{}} }, "", engine.PermissionDenied, "test.no_resume: maxTurns is 9"},
		{"no transcript", nil, nil, `{"unknown_resume": true}`, engine.SessionNotFound, "no transcript"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, scenario := good, resumeScenario
			if tt.scenario != "" {
				scenario = tt.scenario
			}
			if tt.change != nil {
				tt.change(&p)
			}
			h := over(t, state, scenario, good.Options.Cwd, func(o *engine.Options) {
				o.Roots = append(o.Roots, other.Options.Cwd)
				if tt.options != nil {
					tt.options(o)
				}
			})
			_, err := h.Resume(t.Context(), p)
			if err == nil || engine.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("error %v, want %s with %q", err, tt.code, tt.message)
			}
		})
	}
	t.Run("a link to the folder is the folder", func(t *testing.T) {
		p := good
		p.Options.Cwd = link
		h := over(t, state, resumeScenario, good.Options.Cwd, nil)
		if s, err := h.Resume(t.Context(), p); err != nil {
			t.Error(err)
		} else {
			h.settled(s)
		}
	})
}

func TestResumeTokenExpires(t *testing.T) {
	state := t.TempDir()
	h := newHarness(t, resumeScenario, disk(state, func(o *engine.Options) { o.ResumeTTL = time.Nanosecond }))
	s := h.mustStart()
	h.settled(s)
	token := s.ResumeToken()
	fresh := over(t, state, resumeScenario, h.dir, nil)
	p := engine.ResumeParams{SessionID: s.ID(), Token: token, Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	if _, err := fresh.Resume(t.Context(), p); engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("an old token: %v", err)
	}
}

// TestOneProcessForASession: neither this engine nor another one starts a
// second process for a session that is at work.
func TestOneProcessForASession(t *testing.T) {
	state := t.TempDir()
	h := newHarness(t, resumeScenario, disk(state, nil))
	s := h.mustStart()
	h.settled(s) // its process is warm
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.SessionBusy {
		t.Errorf("resumed in the same engine: %v", err)
	}
	other := over(t, state, resumeScenario, h.dir, nil)
	if _, err := other.Resume(t.Context(), p); engine.CodeOf(err) != engine.SessionBusy || !strings.Contains(err.Error(), "another gatehouse server") {
		t.Errorf("resumed in another engine: %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	resumed, err := other.Resume(t.Context(), p)
	if err != nil {
		t.Fatalf("not free after its process ended: %v", err)
	}
	other.settled(resumed)
	if err := resumed.Cancel(t.Context(), "done", "test"); err != nil {
		t.Fatal(err)
	}
	<-resumed.Done()
	if left, _ := os.ReadDir(filepath.Join(state, "sessions")); len(left) > 0 {
		t.Errorf("%d locks are left behind", len(left))
	}
}

func TestNoTokenWithoutSecretOrTranscript(t *testing.T) {
	h := newHarness(t, resumeScenario, nil)
	if token := h.mustStart().ResumeToken(); token != "" {
		t.Error("a token without a secret")
	}
	no := false
	h = newHarness(t, resumeScenario, disk(t.TempDir(), nil))
	s, err := h.start(func(p *engine.StartParams) { p.PersistSession = &no })
	if err != nil {
		t.Fatal(err)
	}
	if s.ResumeToken() != "" {
		t.Error("a token for a session without a transcript")
	}
}

// wary refuses folders whose files could start programs.
type wary struct{}

func (wary) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if len(r.Project.McpServers) > 0 {
		return permission.Decision{Effect: permission.Deny, Rule: "test.project", Reason: "starts programs"}, nil
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.ok"}, nil
}

func TestResumeIsJudgedWithTheFoldersFiles(t *testing.T) {
	state := t.TempDir()
	p, _ := ended(t, state, nil)
	if err := os.WriteFile(filepath.Join(p.Options.Cwd, ".mcp.json"), []byte(`{"mcpServers":{"x":{"command":"x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h := over(t, state, resumeScenario, p.Options.Cwd, func(o *engine.Options) { o.Admission = []admission.Decider{wary{}} })
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "test.project") {
		t.Errorf("resumed in a folder that policy refuses: %v", err)
	}
}

func TestResumeWithAFolderThatLeadsElsewhere(t *testing.T) {
	state, elsewhere := t.TempDir(), t.TempDir()
	p, _ := ended(t, state, func(p *engine.StartParams) { p.AdditionalDirs = []string{"sub"} })
	if err := os.Remove(filepath.Join(p.Options.Cwd, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(p.Options.Cwd, "sub")); err != nil {
		t.Fatal(err)
	}
	h := over(t, state, resumeScenario, p.Options.Cwd, nil)
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "another place") {
		t.Errorf("resumed with a folder put in the place of another: %v", err)
	}
}

// TestOldTokenIsNoWayAround: what happened after a token was made counts.
func TestOldTokenIsNoWayAround(t *testing.T) {
	state := t.TempDir()
	p, first := ended(t, state, nil)
	for turn := 2; turn <= 3; turn++ { // with the same token each time
		h := over(t, state, resumeScenario, p.Options.Cwd, nil)
		s, err := h.Resume(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.settled(s).TotalTurns; got != turn*first.TotalTurns {
			t.Errorf("turns %d, want %d", got, turn*first.TotalTurns)
		}
		if turn == 3 {
			if err := s.Cancel(t.Context(), "enough", "test"); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h := over(t, state, resumeScenario, p.Options.Cwd, nil)
	for _, fork := range []bool{false, true} {
		p.Reply.Fork = fork
		if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.CancelledCode {
			t.Errorf("a cancelled session was resumed (fork %v): %v", fork, err)
		}
	}
	file := filepath.Join(state, "resumable", p.SessionID+".json")
	if err := os.WriteFile(file, []byte(`{"cancel`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Resume(t.Context(), p); engine.CodeOf(err) != engine.Internal {
		t.Errorf("resumed although its record cannot be read: %v", err)
	}
}

// TestQueuedResumeThatFails: the next reply resumes the same transcript, and
// does not begin a new conversation under its id.
func TestQueuedResumeThatFails(t *testing.T) {
	const busyScenario = `{"turns": [[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"reveal":"args"}]], "resume_turns": [[{"reveal": "args"}]]}`
	state := t.TempDir()
	p, before := ended(t, state, nil)
	h := over(t, state, busyScenario, p.Options.Cwd, func(o *engine.Options) { o.MaxConcurrent = 1 })
	busy := h.mustStart()
	h.action(busy)
	p.Reply.SessionInitTimeout = time.Nanosecond // the first try fails
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Cancel(t.Context(), "make room", "test"); err != nil {
		t.Fatal(err)
	}
	h.until(s, "failed start", func() bool { return s.Info().State == engine.Failed })
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "again"}); err != nil {
		t.Fatal(err)
	}
	if got := h.settled(s).Result.Result; !strings.Contains(got, "--resume="+before.ID) {
		t.Errorf("the CLI was started with %s", got)
	}
}
