package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

const bashAsked = `{"tool":{"name":"Bash","input":{"command":"x"},"output":"it ran"}}`

// answersMode answers the open question of a session with a mode.
func (h harness) answersMode(s *engine.Session, mode string) {
	h.t.Helper()
	a := engine.Answer{RequestID: h.action(s).RequestID, Allow: true, Approver: "human"}
	a.UpdatedPermissions = json.RawMessage(`[{"type":"setMode","destination":"session","mode":"` + mode + `"}]`)
	if err := s.Answer(context.Background(), a); err != nil {
		h.t.Fatal(err)
	}
}

// What answers narrowed stays narrow for who continues a session by its id alone,
// in the same run and in the next one.
func TestNarrowedModeIsContinued(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, `{"turns":[[`+bashAsked+`,`+bashAsked+`,{"text":"one"}]],"resume_turns":[[{"text":"two"}]]}`, storing(m, nil))
	s, err := h.start(inMode("acceptEdits"))
	if err != nil {
		t.Fatal(err)
	}
	h.answersMode(s, "default")
	h.answersMode(s, "acceptEdits") // for this session, until it ends
	h.settled(s)
	if got := s.Info().Mode; got != "acceptEdits" {
		t.Fatalf("mode %s", got)
	}
	h.mustClose()
	next := nextServer(t, h, m, `{"turns":[],"resume_turns":[[{"text":"two"}]]}`, nil)
	turn, err := next.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "go on"})
	if err != nil {
		t.Fatal(err)
	}
	<-turn.Done()
	if got := turn.Session().Info().Mode; got != "default" {
		t.Errorf("continued in mode %s", got)
	}
}

// A plan that nobody accepted is not undone by asking nobody: a resume of a session
// in plan mode as dontAsk plans still.
func TestPlanIsNotLeftByResuming(t *testing.T) {
	state := t.TempDir()
	p, _ := ended(t, state, inMode("plan"))
	h := over(t, state, resumeScenario, p.Options.Cwd, nil)
	p.Reply.Fork, p.Options.PermissionMode = true, "dontAsk"
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.settled(s).Mode; got != "plan" {
		t.Errorf("resumed in mode %s", got)
	}
	token := s.ResumeToken()
	h.mustClose()
	h = over(t, state, `{"turns":[],"resume_turns":[[{"tool":{"name":"ExitPlanMode","input":{"plan":"x"},"output":"approved"}},`+bashAsked+`,{"text":"two"}]]}`, p.Options.Cwd, nil)
	p = engine.ResumeParams{SessionID: s.ID(), Token: token, Reply: engine.ReplyParams{Prompt: "go on"}, Options: engine.StartParams{Cwd: p.Options.Cwd}}
	s, err = h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.settled(s).Mode; got != "plan" {
		t.Errorf("resumed again in mode %s", got)
	}
	if find(s, event.PermissionAsked, "") || find(s, event.ToolResult, "it ran") || find(s, event.ToolResult, "approved") {
		t.Errorf("somebody was asked, or it ran:\n%s", dump(s))
	}
}

// A session of mode bypassPermissions goes on while that is not enabled, however it
// is taken up, and asks; it is not asked while it is enabled again.
func TestBypassedSessionsGoOnAndAsk(t *testing.T) {
	const going = `{"turns":[[{"text":"one"}],[` + bashAsked + `,{"text":"two"}]],"resume_turns":[[` + bashAsked + `,{"text":"two"}]]}`
	for name, taken := range map[string]func(h harness, s *engine.Session, p engine.ResumeParams) (*engine.Session, error){
		"reply": func(_ harness, s *engine.Session, p engine.ResumeParams) (*engine.Session, error) {
			return s.Prompt(t.Context(), p.Reply)
		},
		"fork": func(_ harness, s *engine.Session, p engine.ResumeParams) (*engine.Session, error) {
			p.Reply.Fork = true
			return s.Prompt(t.Context(), p.Reply)
		},
		"continue after a stop": func(h harness, s *engine.Session, p engine.ResumeParams) (*engine.Session, error) {
			if err := s.Stop(t.Context(), engine.StopParams{}); err != nil {
				return nil, err
			}
			turn, err := h.Continue(t.Context(), s.ID(), p.Reply)
			if err != nil {
				return nil, err
			}
			return turn.Session(), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, on := range []bool{false, true} {
				state := t.TempDir()
				h := newHarness(t, going, disk(state, nil))
				h.configured("enable_bypass")
				s, err := h.start(inMode("bypassPermissions"))
				if err != nil {
					t.Fatal(err)
				}
				h.settled(s)
				h.configured("disable_bypass")
				if on {
					h.configured("enable_bypass")
				}
				s, err = taken(h, s, engine.ResumeParams{Reply: engine.ReplyParams{Prompt: "go on"}})
				if err != nil {
					t.Fatalf("enabled %v: %v", on, err)
				}
				h.asksUnless(s, on)
			}
		})
	}
}

func (h harness) configured(action string) {
	h.t.Helper()
	if _, err := h.Configure(context.Background(), action); err != nil {
		h.t.Fatal(err)
	}
}

// asksUnless waits for the turn, whose one call asks unless lifted.
func (h harness) asksUnless(s *engine.Session, lifted bool) {
	h.t.Helper()
	if !lifted {
		if err := s.Answer(context.Background(), engine.Answer{RequestID: h.action(s).RequestID}); err != nil {
			h.t.Fatal(err)
		}
	}
	info := h.settled(s)
	if info.Mode != "bypassPermissions" || find(s, event.ToolResult, "it ran") != lifted {
		h.t.Errorf("mode %s, lifted %v:\n%s", info.Mode, lifted, dump(s))
	}
}

// The same for a token, and for an id alone, in the next run, where it was never
// enabled.
func TestBypassedSessionsAreResumed(t *testing.T) {
	const going = `{"turns":[[{"text":"one"}]],"resume_turns":[[` + bashAsked + `,{"text":"two"}]]}`
	for _, on := range []bool{false, true} {
		for _, byToken := range []bool{true, false} {
			state, m := t.TempDir(), newMemoryStore()
			h := newHarness(t, going, disk(state, storing(m, nil)))
			h.configured("enable_bypass")
			s, err := h.start(inMode("bypassPermissions"))
			if err != nil {
				t.Fatal(err)
			}
			h.settled(s)
			p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
			p.Options.Cwd = h.dir
			h.mustClose()
			h = over(t, state, going, p.Options.Cwd, storing(m, nil))
			if on {
				h.configured("enable_bypass")
			}
			if byToken {
				s, err = h.Resume(t.Context(), p)
			} else {
				var turn *engine.Turn
				if turn, err = h.Continue(t.Context(), p.SessionID, p.Reply); err == nil {
					s = turn.Session()
				}
			}
			if err != nil {
				t.Fatalf("enabled %v, by token %v: %v", on, byToken, err)
			}
			h.asksUnless(s, on)
		}
	}
}
