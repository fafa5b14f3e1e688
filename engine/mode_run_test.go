package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func inMode(mode string) func(*engine.StartParams) {
	return func(p *engine.StartParams) { p.PermissionMode = mode }
}

// In mode dontAsk nothing waits for an answer: no call, no question of the CLI's
// own tools, no form. What is allowed runs, what is denied keeps its rule.
func TestDontAskDeniesWhatWouldAsk(t *testing.T) {
	h := newHarness(t, `{"turns":[[
		{"tool":{"name":"Bash","input":{"command":"touch x"},"output":"it ran"}},
		{"tool":{"name":"Unnamed","input":{},"output":"it ran"}},
		{"tool":{"name":"AskUserQuestion","input":{"questions":[]},"output":"it ran"}},
		{"tool":{"name":"Write","input":{"file_path":"x"},"output":"it ran"}},
		{"tool":{"name":"Read","input":{"file_path":"x"},"output":"read it"}},
		{"elicitation":`+nameForm+`},
		{"reveal":"args"}]]}`, nil)
	s, err := h.start(inMode("dontAsk"))
	if err != nil {
		t.Fatal(err)
	}
	info := h.settled(s)
	if info.State != engine.Idle || info.Mode != "dontAsk" {
		t.Fatalf("state %s, mode %s:\n%s", info.State, info.Mode, dump(s))
	}
	if find(s, event.PermissionAsked, "") || find(s, event.ToolResult, "it ran") || !find(s, event.ToolResult, "read it") {
		t.Errorf("events:\n%s", dump(s))
	}
	denied := map[string]bool{}
	for _, e := range s.Events(nil, 0).Events {
		text := string(e.Data)
		if e.Type == event.PermissionResult && strings.Contains(text, `"rule":"engine.dont_ask"`) && strings.Contains(text, "permissionMode is dontAsk") {
			for _, tool := range []string{"Bash", "Unnamed", "AskUserQuestion", "Elicitation", "Write"} {
				denied[tool] = denied[tool] || strings.Contains(text, `"toolName":"`+tool+`"`)
			}
		}
	}
	if !denied["Bash"] || !denied["Unnamed"] || !denied["AskUserQuestion"] || !denied["Elicitation"] || denied["Write"] {
		t.Errorf("denied by the mode: %v\n%s", denied, dump(s))
	}
	if !find(s, event.PermissionResult, "rule test.ask asks: because of the test") {
		t.Errorf("the rule that asks is not named:\n%s", dump(s))
	}
	if !strings.Contains(info.Result.Result, `"--permission-mode","default"`) {
		t.Errorf("the CLI was told of a mode in which it asks nobody: %s", info.Result.Result)
	}
}

// Of the modes only plan reaches the CLI.
func TestCLIKnowsOnlyPlanMode(t *testing.T) {
	for _, mode := range []string{"", "default", "acceptEdits", "plan", "dontAsk", "delegate", "bypassPermissions"} {
		want := "default"
		if mode == "plan" {
			want = mode
		}
		h := newHarness(t, `{"turns":[[{"reveal":"args"}]]}`, nil)
		s, err := h.start(inMode(mode))
		if mode == "bypassPermissions" { // not enabled, whatever the policies say
			if engine.CodeOf(err) != engine.PermissionDenied {
				t.Errorf("%s: %v", mode, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%q: %v", mode, err)
		}
		if got := h.settled(s).Result.Result; !strings.Contains(got, `"--permission-mode","`+want+`"`) {
			t.Errorf("%q: %s", mode, got)
		}
	}
}

// A session in plan mode leaves it when its plan is accepted, and a process that is
// started later knows that; a refused plan keeps it.
func TestPlanModeEndsWithItsPlan(t *testing.T) {
	for _, tt := range []struct {
		allow bool
		mode  string
	}{{true, "default"}, {false, "plan"}} {
		h := newHarness(t, `{"turns":[[
			{"tool":{"name":"ExitPlanMode","input":{"plan":"leap"},"output":"approved"}},{"text":"planned"}],
			[{"exit":{"code":1}}]],
			"resume_turns":[[{"reveal":"args"}]]}`, nil)
		s, err := h.start(inMode("plan"))
		if err != nil {
			t.Fatal(err)
		}
		a := h.action(s)
		if a.Type != "plan" || s.Info().Mode != "plan" {
			t.Errorf("action %+v in mode %s", a, s.Info().Mode)
		}
		if err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Allow: tt.allow}); err != nil {
			t.Fatal(err)
		}
		h.settled(s)
		if got := s.Info().Mode; got != tt.mode {
			t.Errorf("allowed %v: mode %s, want %s", tt.allow, got, tt.mode)
		}
		for range 2 { // the first one ends the process
			if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "go on"}); err != nil {
				t.Fatal(err)
			}
			h.settled(s)
		}
		if got := s.Info().Result.Result; !strings.Contains(got, `"--permission-mode","`+tt.mode+`"`) {
			t.Errorf("allowed %v: the next process was started with %s", tt.allow, got)
		}
	}
}

// A fork and a resume have the mode of the session they come from, or a stricter one.
func TestModeIsInherited(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"text":"one"}]],"resume_turns":[[{"text":"two"}]]}`, nil)
	s, err := h.start(inMode("dontAsk"))
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	f, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "go on", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.settled(f).Mode; got != "dontAsk" {
		t.Errorf("the fork is in mode %s", got)
	}

	state := t.TempDir()
	p, _ := ended(t, state, inMode("acceptEdits"))
	for _, tt := range []struct{ given, want string }{{"", "acceptEdits"}, {"default", "default"}, {"plan", "plan"}, {"bypassPermissions", ""}} {
		h := over(t, state, resumeScenario, p.Options.Cwd, nil)
		p.Reply.Fork, p.Options.PermissionMode = true, tt.given
		s, err := h.Resume(t.Context(), p)
		if tt.want == "" {
			if engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "permissionMode") {
				t.Errorf("resumed in mode %s: %v", tt.given, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("resumed in mode %s: %v", tt.given, err)
		}
		if got := h.settled(s).Mode; got != tt.want {
			t.Errorf("resumed in mode %q: %s, want %s", tt.given, got, tt.want)
		}
	}
}

// A session of an earlier run is shown in the mode it was left in.
func TestModeIsKept(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, `{"turns":[[{"text":"one"}]]}`, storing(m, nil))
	s, err := h.start(inMode("dontAsk"))
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	h.mustClose()
	next := nextServer(t, h, m, `{"turns":[]}`, nil)
	if info := next.mustFind(s.ID()).Info(); info.Mode != "dontAsk" || info.Params.PermissionMode != "dontAsk" {
		t.Errorf("kept as %s, asked for as %s", info.Mode, info.Params.PermissionMode)
	}
}
