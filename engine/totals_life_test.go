package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// tally is what one call took, and its session so far.
type tally struct {
	turns, all    int
	cost, allCost float64
	prompts       int // of the session
}

func (h harness) tallies(when string, r engine.Result, i engine.Info, want tally) {
	h.t.Helper()
	got := tally{r.NumTurns, r.SessionTotalTurns, r.TotalCostUSD, r.SessionTotalCostUSD, i.Prompts}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if got.turns != want.turns || got.all != want.all || !near(got.cost, want.cost) || !near(got.allCost, want.allCost) || got.prompts != want.prompts {
		h.t.Errorf("%s: %+v, want %+v", when, got, want)
	}
	if i.TotalTurns != want.all || !near(i.TotalCostUSD, want.allCost) {
		h.t.Errorf("%s: the session says %d turns, $%g; want %+v", when, i.TotalTurns, i.TotalCostUSD, want)
	}
}

// costs is a turn that costs as much: the process's total, as the CLI tells it.
func costs(turns int, total float64, more string) string {
	return fmt.Sprintf(`[{"text":"said"},{"result":{"num_turns":%d,"cost":%g}}%s]`, turns, total, more)
}

const hangs = `,{"wait_interrupt":true}`

// What an interrupted turn had cost counts once, however it was ended, and a new
// process counts from zero.
func TestTotalsOfInterruptedTurns(t *testing.T) {
	scenario := `{"turns":[` + costs(1, 0.25, "") + `,` + costs(2, 0.75, hangs) + `],"resume_turns":[` + costs(1, 0.125, "") + `]}`
	for _, tt := range []struct {
		name string
		end  func(*testing.T, *engine.Turn)
		code engine.Code
		goes bool // on
	}{
		{"abort", func(_ *testing.T, turn *engine.Turn) { turn.Abort(engine.Errorf(engine.Timeout, "enough")) }, engine.Timeout, true},
		{"stop", func(t *testing.T, turn *engine.Turn) {
			if err := turn.Session().Stop(t.Context(), engine.StopParams{Reason: "Session stopped", Source: "test"}); err != nil {
				t.Error(err)
			}
		}, engine.CancelledCode, true},
		{"cancel", func(t *testing.T, turn *engine.Turn) {
			if err := turn.Session().Cancel(t.Context(), "enough", "test"); err != nil {
				t.Error(err)
			}
		}, engine.CancelledCode, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, scenario, nil)
			turn := h.begun()
			s := turn.Session()
			h.tallies("first turn", h.over(turn), s.Info(), tally{1, 1, 0.25, 0.25, 1})
			turn = h.next(s)
			h.until(s, "words of the second turn", func() bool { return count(s, event.Output, "said") == 2 })
			tt.end(t, turn)
			r := h.over(turn)
			h.tallies("interrupted", r, s.Info(), tally{2, 3, 0.5, 0.75, 2})
			if !r.IsError || r.Code != tt.code || r.ErrorType != engine.SessionError || r.ErrorSubtype != "error_during_execution" {
				t.Errorf("%+v", r)
			}
			if s.Info().LastOutput != "said" {
				t.Errorf("last output %q", s.Info().LastOutput)
			}
			if !tt.goes {
				if _, err := h.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "go on"}); engine.CodeOf(err) != engine.CancelledCode {
					t.Errorf("it goes on: %v", err)
				}
				return
			}
			turn = h.next(s)
			r = h.over(turn)
			h.tallies("a new process", r, turn.Session().Info(), tally{1, 4, 0.125, 0.875, 3})
		})
	}
}

// A process that is killed tells nothing of what its turn had cost.
func TestTotalsOfAProcessThatDies(t *testing.T) {
	scenario := `{"turns":[` + costs(1, 0.25, "") + `,` + costs(2, 0.75, `,{"exit":{"code":9}}`) + `],"resume_turns":[` + costs(1, 0.125, "") + `]}`
	h := newHarness(t, scenario, nil)
	turn := h.begun()
	s := turn.Session()
	h.over(turn)
	h.tallies("the process died", h.over(h.next(s)), s.Info(), tally{0, 1, 0, 0.25, 2})
	h.tallies("a new process", h.over(h.next(s)), s.Info(), tally{1, 2, 0.125, 0.375, 3})
}

// A turn that the CLI begins by itself, when work in the background has ended, has a
// result of its own.
func TestTotalsOfTurnsTheCLIBegins(t *testing.T) {
	const scenario = `{"turns":[[{"text":"a"},{"agent":{"background":true,"steps":[{"text":"x"}],"after":[{"text":"later"},{"result":{"num_turns":1,"cost":0.75}}]}},{"result":{"num_turns":2,"cost":0.5}}]]}`
	h := newHarness(t, scenario, func(o *engine.Options) { o.Deciders = []permission.Decider{rules{"Agent": permission.Allow}} })
	turn := h.begun()
	s := turn.Session()
	if r := h.over(turn); r.NumTurns != 2 || r.TotalCostUSD != 0.5 || r.SessionTotalTurns != 2 {
		t.Errorf("%+v", r)
	}
	h.until(s, "second result", func() bool { return s.Info().Prompts == 2 })
	i := s.Info()
	h.tallies("the CLI's own turn", *i.Result, i, tally{1, 3, 0.25, 0.75, 2})
	if i.LastOutput != "later" {
		t.Errorf("last output %q", i.LastOutput)
	}
}

// A fork starts anew, and its parent stays as it was.
func TestTotalsOfAFork(t *testing.T) {
	h := newHarness(t, `{"turns":[`+costs(3, 0.5, "")+`],"resume_turns":[`+costs(2, 0.125, "")+`,`+costs(1, 0.25, "")+`]}`, nil)
	turn := h.begun()
	s := turn.Session()
	first := h.over(turn)
	fork, err := h.Continue(t.Context(), s.ID(), engine.ReplyParams{Prompt: "another way", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	f := fork.Session()
	h.tallies("fork", h.over(fork), f.Info(), tally{2, 2, 0.125, 0.125, 1})
	h.tallies("parent", first, s.Info(), tally{3, 3, 0.5, 0.5, 1})
	h.tallies("reply to the fork", h.over(h.next(f)), f.Info(), tally{1, 3, 0.125, 0.25, 2})
	if f.ID() == s.ID() || f.Info().ParentID != s.ID() {
		t.Errorf("fork %s of %s", f.ID(), s.ID())
	}
}

// Totals outlive the server, with the store or with a token alone, also those of a
// turn it took with it.
func TestTotalsAfterARestart(t *testing.T) {
	scenario := `{"turns":[` + costs(3, 0.5, "") + `,` + costs(1, 0.75, "") + `,[{"text":"x"},{"wait_interrupt":true}]],"resume_turns":[` + costs(2, 0.125, "") + `]}`
	for _, tt := range []struct {
		name          string
		store, inTurn bool
		want          tally
	}{
		{"with the store", true, false, tally{2, 6, 0.125, 0.875, 3}},
		{"with the store, in a turn", true, true, tally{2, 6, 0.125, 0.875, 4}},
		{"with a token alone", false, false, tally{2, 6, 0.125, 0.875, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state, m := t.TempDir(), newMemoryStore()
			change := func(o *engine.Options) {
				if tt.store {
					o.Store = m
				}
			}
			h := newHarness(t, scenario, disk(state, change))
			turn := h.begun()
			s := turn.Session()
			h.over(turn)
			h.over(h.next(s))
			token := s.ResumeToken()
			if tt.inTurn {
				h.next(s)
				h.until(s, "words", func() bool { return find(s, event.Output, `"x"`) })
			}
			m.crash()
			h.mustClose()
			if tt.store {
				state = t.TempDir() // the store's word is enough
			}
			later := over(t, state, scenario, h.dir, change)
			if tt.store {
				i := later.mustFind(s.ID()).Info()
				if i.TotalTurns != 4 || i.TotalCostUSD != 0.75 || i.Prompts != tt.want.prompts-1 || i.Result.SessionTotalTurns != 4 {
					t.Errorf("kept: %+v, result %+v", i, i.Result)
				}
				if strings.Contains(i.Result.Result, "the server ended") != tt.inTurn || tt.inTurn && i.Result.ErrorType != engine.SessionError {
					t.Errorf("kept result %+v", i.Result)
				}
			}
			p := engine.ResumeParams{SessionID: s.ID(), Token: token, Reply: engine.ReplyParams{Prompt: "go on"}}
			p.Options.Cwd = h.dir
			resumed, err := later.Resume(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			i := later.settled(resumed)
			later.tallies("resumed", *i.Result, i, tt.want)
		})
	}
}
