package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func TestContinueOfAKeptSession(t *testing.T) {
	for name, end := range map[string]func(harness, *memoryStore, *engine.Session){
		"end of the server":  func(h harness, _ *memoryStore, _ *engine.Session) { h.mustClose() },
		"crash":              func(_ harness, m *memoryStore, _ *engine.Session) { m.crash() },
		"stopped, then that": func(h harness, m *memoryStore, s *engine.Session) { h.mustStop(s); m.crash() },
	} {
		t.Run(name, func(t *testing.T) {
			m, state := newMemoryStore(), t.TempDir()
			h := newHarness(t, resumeScenario, storing(m, func(o *engine.Options) { o.StateDir = state }))
			if err := os.Mkdir(filepath.Join(h.dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			first := h.mustBegin(func(p *engine.StartParams) {
				p.MaxTurns, p.AllowedTools, p.AdditionalDirs, p.NoHooks = 9, []string{"Read"}, []string{"sub"}, true
			})
			h.mustWait(first)
			old := first.Session()
			h.recorded(old, m)
			end(h, m, old)
			h.mustClose() // its processes; after a crash it writes nothing
			kept, _ := m.Session(old.ID())
			next := nextServer(t, h, m, resumeScenario, func(o *engine.Options) { o.StateDir = state })
			turn := next.mustContinue(old.ID(), "go on")
			r := next.mustWait(turn)
			for _, want := range []string{"--resume=" + old.ID(), "--max-turns=9", "--add-dir=" + filepath.Join(h.dir, "sub")} {
				if !strings.Contains(r.Result, want) {
					t.Errorf("the CLI was started without %s: %s", want, r.Result)
				}
			}
			s := turn.Session()
			i := s.Info()
			if turn.From() != kept.Next || i.State != engine.Idle || i.TotalTurns != 2*old.Info().TotalTurns || !i.CreatedAt.Equal(kept.Created) || i.Prompts != 2 {
				t.Errorf("from event %d, want %d; shown as %+v", turn.From(), kept.Next, i)
			}
			if len(i.Params.AllowedTools) != 1 || i.Params.AllowedTools[0] != "Read" || !i.Params.NoHooks {
				t.Errorf("options %+v", i.Params)
			}
			idsInOrder(t, s)
			fork, err := next.Continue(t.Context(), old.ID(), engine.ReplyParams{Prompt: "copy", Fork: true})
			if err != nil {
				t.Fatal(err)
			}
			next.mustWait(fork)
		})
	}
}

func TestForkOfWhatDoesNotRun(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, nil))
	s := h.mustStart()
	h.recorded(s, m)
	h.mustStop(s)
	forked := func(h harness) {
		t.Helper()
		turn, err := h.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "copy", Fork: true})
		if err != nil {
			t.Fatal(err)
		}
		r, f := h.mustWait(turn), turn.Session()
		if f.ID() == s.ID() || f.Info().ParentID != s.ID() || turn.From() != 0 || r.SessionTotalTurns != r.NumTurns {
			t.Errorf("fork %+v, result %+v", f.Info(), r)
		}
		for _, want := range []string{"--resume=" + s.ID(), "--fork-session", "--session-id=" + f.ID()} {
			if !strings.Contains(r.Result, want) {
				t.Errorf("the CLI was started without %s: %s", want, r.Result)
			}
		}
		if i := h.mustFind(s.ID()).Info(); i.State != engine.Cancelled || i.CancelledReason != stop.Reason {
			t.Errorf("the session that was forked: %+v", i)
		}
	}
	forked(h)
	h.mustClose()
	forked(nextServer(t, h, m, resumeScenario, nil))
}

// TestContinueNeedsAllOptions: what a record does not hold in full is no leave to go
// on without it.
func TestContinueNeedsAllOptions(t *testing.T) {
	long := strings.Repeat("x", 20<<10)
	cases := map[string]func(*engine.StartParams){
		"a variable": func(p *engine.StartParams) { p.Env = map[string]string{"CI": "1"} },
		"a server": func(p *engine.StartParams) {
			p.McpServers = []byte(`{"x":{"type":"http","url":"http://127.0.0.1:1/"}}`)
		},
		"a sandbox":       func(p *engine.StartParams) { p.Sandbox = []byte(`{"enabled":false}`) },
		"an executable":   func(p *engine.StartParams) { p.Executable = os.Args[0] },
		"a debug file":    func(p *engine.StartParams) { p.DebugFile = "log" },
		"a secret":        func(p *engine.StartParams) { p.AppendPrompt = "use " + theSecret },
		"too long a text": func(p *engine.StartParams) { p.SystemPrompt = &long },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMemoryStore()
			options := func(o *engine.Options) { o.Redactors = []event.Redactor{covering{}} }
			h := newHarness(t, resumeScenario, storing(m, options))
			s, err := h.start(change)
			if err != nil {
				t.Fatal(err)
			}
			h.recorded(s, m)
			h.mustStop(s)
			turn := h.mustContinue(s.ID(), "go on") // in memory it has them
			h.mustWait(turn)
			h.mustClose()
			next := nextServer(t, h, m, resumeScenario, options)
			for _, fork := range []bool{false, true} {
				_, err := next.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "go on", Fork: fork})
				if engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "not all of what it was started with is kept") {
					t.Errorf("continued (fork %v): %v", fork, err)
				}
			}
		})
	}
}

// theSecret is what covering covers.
const theSecret = "s3cr3t-of-this-test"

type covering struct{}

func (covering) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	text := strings.ReplaceAll(string(p.Data), theSecret, "[REDACTED:test]")
	return json.RawMessage(text), nil, nil
}

func (covering) Revision() string { return "covering" }

func TestContinueRefusals(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, nil))
	if err := os.Mkdir(filepath.Join(h.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := h.start(func(p *engine.StartParams) { p.MaxTurns, p.AdditionalDirs = 9, []string{"sub"} })
	if err != nil {
		t.Fatal(err)
	}
	h.recorded(s, m)
	no := false
	gone, err := h.start(func(p *engine.StartParams) { p.PersistSession = &no })
	if err != nil {
		t.Fatal(err)
	}
	h.recorded(gone, m)
	h.mustStop(s)
	h.mustClose()
	refused := func(name, id string, change func(*engine.Options), code engine.Code, words string) {
		t.Helper()
		next := nextServer(t, h, m, resumeScenario, change)
		_, err := next.Continue(t.Context(), id, engine.ReplyParams{Prompt: "go on"})
		if err == nil || engine.CodeOf(err) != code || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %s with %q", name, err, code, words)
		}
		if i := next.mustFind(s.ID()).Info(); i.State != engine.Cancelled || i.CancelledReason != stop.Reason {
			t.Errorf("%s: a refused continue left %+v", name, i)
		}
		next.mustClose()
	}
	refused("policy", s.ID(), func(o *engine.Options) { o.Admission = []admission.Decider{noResume{}} }, engine.PermissionDenied, "test.no_resume: maxTurns is 9")
	refused("no transcript", gone.ID(), nil, engine.SessionNotFound, "persistSession false")
	refused("an old CLI", s.ID(), func(o *engine.Options) { o.MinVersion = "99.0.0" }, engine.InvalidArgument, "at least 99.0.0")
	if err := os.Remove(filepath.Join(h.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(h.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	refused("a link", s.ID(), nil, engine.PermissionDenied, "engine.folder")
	elsewhere := newHarness(t, resumeScenario, storing(m, nil))
	if _, err := elsewhere.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "x"}); engine.CodeOf(err) != engine.SessionNotFound {
		t.Errorf("outside of the roots: %v", err)
	}
	other, err := m.Open(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	next := nextServer(t, h, m, resumeScenario, nil)
	if _, err := next.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "x"}); engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "another gatehouse server") {
		t.Errorf("live elsewhere: %v", err)
	}
}

// TestContinueWithoutATranscript: the turn tells it, and the session fails.
func TestContinueWithoutATranscript(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, nil))
	s := h.mustStart()
	h.recorded(s, m)
	h.mustClose()
	next := nextServer(t, h, m, `{"unknown_resume": true}`, nil)
	turn := next.mustContinue(s.ID(), "go on")
	if r := next.mustWait(turn); r.Code != engine.SessionNotFound || !strings.Contains(r.Result, "has no transcript in this folder any more") {
		t.Errorf("result %+v", r)
	}
	if i := turn.Session().Info(); i.State != engine.Failed {
		t.Errorf("shown as %+v", i)
	}
}

// TestRecordsOfBefore: a record that does not say whether it is whole is not.
func TestRecordsOfBefore(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, nil))
	s := h.mustStart()
	h.recorded(s, m)
	h.mustClose()
	var record map[string]json.RawMessage
	old := m.all[s.ID()]
	if err := json.Unmarshal(old.record.Engine, &record); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"exact", "dirs", "deny", "stopped", "prompts"} {
		delete(record, member)
	}
	old.record.Engine, _ = json.Marshal(record)
	next := nextServer(t, h, m, resumeScenario, nil)
	if i := next.mustFind(s.ID()).Info(); i.State != engine.Idle || i.Stopped {
		t.Errorf("shown as %+v", i)
	}
	if _, err := next.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "x"}); engine.CodeOf(err) != engine.SessionNotFound {
		t.Errorf("continued: %v", err)
	}
}

// TestContinueWhereTheStoreFails: what could not be noted has not happened.
func TestContinueWhereTheStoreFails(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, resumeScenario, storing(m, nil))
	s := h.mustStart()
	h.recorded(s, m)
	h.mustStop(s)
	for _, op := range []string{"put", "sync"} {
		m.failing(op)
		if _, err := h.Continue(within(t), s.ID(), engine.ReplyParams{Prompt: "go on"}); engine.CodeOf(err) != engine.Internal || !strings.Contains(err.Error(), "engine.store") {
			t.Errorf("%s: %v", op, err)
		}
		m.failing()
		if found := h.mustFind(s.ID()); found != s || !found.Info().Stopped {
			t.Errorf("%s: shown as %+v", op, found.Info())
		}
	}
	h.mustStop(s)
	if r, _ := m.Session(s.ID()); r.State != "cancelled" || r.Final || !r.Live {
		t.Errorf("record %+v", r)
	}
	if r := h.mustWait(h.mustContinue(s.ID(), "go on")); r.IsError {
		t.Errorf("once it works: %+v", r)
	}
	h.mustClose()
	if r, _ := m.Session(s.ID()); r.State != "idle" || r.Live {
		t.Errorf("record %+v", r)
	}
}
