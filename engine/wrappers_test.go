package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

const (
	switchesTurn     = `[{"reveal":"env:CLAUDE_MPM_NO_TICKETS"},{"reveal":"env:CLAUDE_MPM_USER_PWD"},{"reveal":"args"},{"tool":{"name":"Read","input":{"file_path":"x"},"output":"y"}},{"text":"done"}]`
	switchesScenario = `{"turns":[` + switchesTurn + `,` + switchesTurn + `],"resume_turns":[` + switchesTurn + `]}`
)

// stale is an environment that was inherited from another session.
func stale(o *engine.Options) {
	o.Environ = append(o.Environ, "CLAUDE_MPM_USER_PWD=/somebody/elses")
	o.WarmTTL = time.Millisecond // every reply is a new process
}

// words are the text blocks that a session has told since event id from.
func words(s *engine.Session, from int64) []string {
	var out []string
	for _, e := range s.Events(nil, 0).Events {
		var m struct {
			Message struct {
				Content []struct{ Text string }
			}
			Text string
		}
		if e.ID < from || e.Type != event.Output || json.Unmarshal(e.Data, &m) != nil {
			continue
		}
		for _, c := range m.Message.Content {
			out = append(out, c.Text)
		}
		if m.Text != "" {
			out = append(out, m.Text)
		}
	}
	return out
}

// holdsSwitches asserts what the newest process of s was told.
func (h harness) holdsSwitches(when string, s *engine.Session, from int64, tickets string) {
	h.t.Helper()
	told := strings.Join(words(s, from), "\n")
	for _, want := range []string{tickets + "\n", `"` + h.dir + `"`} {
		if !strings.Contains(told, want) {
			h.t.Errorf("%s: the process was not told %s:\n%s", when, want, told)
		}
	}
	if strings.Contains(told, "elses") {
		h.t.Errorf("%s: the folder is somebody else's:\n%s", when, told)
	}
	above := strings.Contains(told, `\"env\":{\"CLAUDE_MPM_NO_TICKETS\":\"1\"}`)
	if want := tickets == `"1"`; above != want {
		h.t.Errorf("%s: set above the settings files: %v, want %v\n%s", when, above, want, told)
	}
}

func bothSwitches(p *engine.StartParams) { p.NoHooks, p.NoTickets = true, true }

func TestSwitchesOfSessionServers(t *testing.T) {
	j := labelling()
	h := newHarness(t, switchesScenario, func(o *engine.Options) { stale(o); j.use(o) })
	plain, err := h.start(func(p *engine.StartParams) {
		p.Env = map[string]string{"CLAUDE_MPM_USER_PWD": "/a/callers/elses", "CLAUDE_MPM_NO_TICKETS": "0"}
	})
	if err != nil {
		t.Fatal(err)
	}
	h.settled(plain)
	h.holdsSwitches("neither", plain, 0, `"0"`)
	if find(plain, event.Notice, "no_hooks") || find(plain, event.Notice, "no_tickets") {
		t.Errorf("a switch that is off was told:\n%s", dump(plain))
	}
	facts(t, "neither", j, false)

	s, err := h.start(func(p *engine.StartParams) {
		bothSwitches(p)
		p.Env = map[string]string{"CLAUDE_MPM_NO_TICKETS": "0"}
	})
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	h.holdsSwitches("both", s, 0, `"1"`)
	facts(t, "both", j, true)
	if count(s, event.Notice, `"no_hooks"`) != 1 || count(s, event.Notice, `"no_tickets"`) != 1 {
		t.Errorf("the switches were not told:\n%s", dump(s))
	}
	if args := strings.Join(words(s, 0), ""); strings.Contains(args, "disableAllHooks") || strings.Contains(args, "--bare") {
		t.Errorf("our own callbacks are off:\n%s", args)
	}

	for _, fork := range []bool{false, true} {
		from := s.Events(nil, 0).Next
		next, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "on", Fork: fork})
		if err != nil {
			t.Fatal(err)
		}
		h.settled(next)
		if fork {
			from = 0
		}
		h.holdsSwitches("continued", next, from, `"1"`)
		facts(t, "continued", j, true)
	}
}

// facts asserts what policies saw of the newest call.
func facts(t *testing.T, when string, j *judge, want bool) {
	t.Helper()
	seen := j.requests(permission.DoorHook)
	if len(seen) == 0 {
		t.Fatalf("%s: no call was judged", when)
	}
	if f := seen[len(seen)-1].Session; f.NoHooks != want || f.NoTickets != want {
		t.Errorf("%s: policies saw no_hooks %v, no_tickets %v", when, f.NoHooks, f.NoTickets)
	}
}

// A token signs both: who resumes without naming them gets them, and nobody loses
// them by naming others.
func TestSwitchesAreResumed(t *testing.T) {
	state := t.TempDir()
	p, _ := ended(t, state, bothSwitches)
	j := labelling()
	for name, raw := range map[string]map[string]json.RawMessage{
		"not named": nil, "named": {"noHooks": json.RawMessage("false"), "noTickets": json.RawMessage("false")},
	} {
		h := over(t, state, switchesScenario, p.Options.Cwd, func(o *engine.Options) { stale(o); j.use(o) })
		p.Options.Raw = raw
		s, err := h.Resume(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h.settled(s)
		h.dir = p.Options.Cwd
		h.holdsSwitches(name, s, 0, `"1"`)
		facts(t, name, j, true)
		h.mustClose()
	}
}

// What is kept of a session says so too.
func TestSwitchesAreKept(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, switchesScenario, storing(m, nil))
	s, err := h.start(bothSwitches)
	if err != nil {
		t.Fatal(err)
	}
	h.recorded(s, m)
	h.mustClose()
	next := nextServer(t, h, m, switchesScenario, nil)
	if kept := next.mustFind(s.ID()).Info().Params; !kept.NoHooks || !kept.NoTickets {
		t.Errorf("kept parameters %+v", kept)
	}
}
