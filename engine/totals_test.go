package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// totalsLab runs sessions of a scripted CLI whose every turn reveals its
// command line and then costs what the turn says.
func totalsLab(t *testing.T, turns, resumed string) *Engine {
	t.Helper()
	scenario := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(scenario, []byte(`{"turns": [`+turns+`], "resume_turns": [`+resumed+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", scenario}, Roots: []string{t.TempDir()},
		Admission: []admission.Decider{grants{}}, Mentions: func(string) []string { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

// rested waits until the session is at rest and has told n results.
func rested(t *testing.T, s *Session, n int) Info {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		ended := 0
		for _, e := range s.Events(nil, 0).Events {
			if e.Type.Terminal() {
				ended++
			}
		}
		if i := s.Info(); ended >= n && !i.State.Busy() {
			return i
		}
	}
	t.Fatalf("result %d never came: %+v", n, s.Info())
	return Info{}
}

func continued(t *testing.T, s *Session, fork bool) *Session {
	t.Helper()
	next, err := s.Prompt(t.Context(), ReplyParams{Prompt: "go on", Fork: fork})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// cooled ends the session's warm process, as the sweeper does, which tries again
// when something of the last turn still goes on.
func cooled(t *testing.T, s *Session) {
	t.Helper()
	for range 1000 {
		s.mu.Lock()
		p := s.proc
		s.mu.Unlock()
		if p == nil {
			return
		}
		s.cool(p)
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the warm process is still there")
}

type sums struct {
	turns, totalTurns int
	cost, totalCost   float64
}

func (w sums) check(t *testing.T, when string, i Info) {
	t.Helper()
	r := i.Result
	got := sums{r.NumTurns, r.SessionTotalTurns, r.TotalCostUSD, r.SessionTotalCostUSD}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if got.turns != w.turns || got.totalTurns != w.totalTurns || !near(got.cost, w.cost) || !near(got.totalCost, w.totalCost) {
		t.Errorf("%s: %+v, want %+v", when, got, w)
	}
	if i.TotalTurns != w.totalTurns || !near(i.TotalCostUSD, w.totalCost) {
		t.Errorf("%s: session says %d turns, $%g; want %+v", when, i.TotalTurns, i.TotalCostUSD, w)
	}
}

// Increments are those of one turn, totals those of the session: over replies
// to a warm process, which tells its own running total, over a new process,
// which begins at zero, and not over a fork.
func TestTurnsAndCostsAddUp(t *testing.T) {
	e := totalsLab(t,
		`[{"text":"a"},{"result":{"num_turns":3,"cost":0.5}}],[{"text":"b"},{"result":{"num_turns":1,"cost":0.75}}]`,
		`[{"text":"c"},{"result":{"num_turns":2,"cost":0.125}}],[{"text":"d"},{"result":{"num_turns":1,"cost":0.25}}]`)
	s, err := e.Start(t.Context(), StartParams{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	sums{3, 3, 0.5, 0.5}.check(t, "first turn", rested(t, s, 1))
	continued(t, s, false)
	sums{1, 4, 0.25, 0.75}.check(t, "reply to the warm process", rested(t, s, 2))
	cooled(t, s)
	continued(t, s, false)
	sums{2, 6, 0.125, 0.875}.check(t, "reply by a new process", rested(t, s, 3))
	fork := continued(t, s, true)
	sums{2, 2, 0.125, 0.125}.check(t, "fork", rested(t, fork, 1))
	sums{2, 6, 0.125, 0.875}.check(t, "parent of the fork", rested(t, s, 3))
	continued(t, s, false)
	sums{1, 7, 0.125, 1}.check(t, "reply after the fork", rested(t, s, 4))
}

// A process that tells less than before, or a failed turn, never lowers totals.
func TestFailedTurnsCount(t *testing.T) {
	e := totalsLab(t,
		`[{"text":"a"},{"result":{"subtype":"error_max_turns","errors":["enough"],"num_turns":5,"cost":0.5}}],
		 [{"text":"b"},{"result":{"num_turns":1,"cost":0.25}}], [{"exit":{"code":3}}]`, `[{"text":"c"},{"result":{"cost":0.125}}]`)
	s, err := e.Start(t.Context(), StartParams{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	i := rested(t, s, 1)
	sums{5, 5, 0.5, 0.5}.check(t, "failed turn", i)
	if i.State != Failed || i.Result.ErrorSubtype != "error_max_turns" || i.Result.Result != "enough" {
		t.Errorf("state %s, result %+v", i.State, i.Result)
	}
	continued(t, s, false)
	sums{1, 6, 0, 0.5}.check(t, "a total that went down", rested(t, s, 2))
	continued(t, s, false)
	sums{0, 6, 0, 0.5}.check(t, "a process that ended in the turn", rested(t, s, 3))
	continued(t, s, false)
	sums{1, 7, 0.125, 0.625}.check(t, "a new process", rested(t, s, 4))
}

// maxBudgetUsd holds for the session, though each process counts from zero.
func TestBudgetHoldsOverProcesses(t *testing.T) {
	e := totalsLab(t,
		`[{"text":"a"},{"result":{"cost":0.25}}]`, `[{"reveal":"args"},{"result":{"cost":0.75}}]`)
	s, err := e.Start(t.Context(), StartParams{Prompt: "go", MaxBudgetUSD: 1})
	if err != nil {
		t.Fatal(err)
	}
	rested(t, s, 1)
	cooled(t, s)
	continued(t, s, false)
	rested(t, s, 2)
	if text := told(s); !strings.Contains(text, `--max-budget-usd=0.75`) {
		t.Errorf("the new process may not cost what is left: %s", text)
	}
	cooled(t, s)
	continued(t, s, false)
	i := rested(t, s, 3)
	if i.State != Failed || i.Result.ErrorSubtype != "error_max_budget_usd" || !strings.Contains(i.Result.Result, "Error [LIMIT]: the session cost $1 of maxBudgetUsd 1") {
		t.Errorf("state %s, result %+v", i.State, i.Result)
	}
	fork := continued(t, s, true)
	rested(t, fork, 1)
	if text := told(fork); !strings.Contains(text, `--max-budget-usd=1"`) {
		t.Errorf("a fork does not begin with the whole budget: %s", text)
	}
}

// told joins what the model said.
func told(s *Session) string {
	var text strings.Builder
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == event.Output {
			text.WriteString(strings.ReplaceAll(string(e.Data), `\"`, `"`))
		}
	}
	return text.String()
}
