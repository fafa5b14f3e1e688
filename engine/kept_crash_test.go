package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// doomedServer names the folder of a server in a process of its own, which a test
// kills with -9.
const doomedServer = "GATEHOUSE_TEST_DOOMED_SERVER"

// doomedStops names the file by which such a server is told to stop its session.
const doomedStops = "stop"

const doomedScenario = `{"turns":[[{"text":"first"}],[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"text":"second"}]],
	"resume_turns":[[{"text":"resumed"}]]}`

// report is what a doomed server says of itself before it dies.
type report struct {
	ID, Request, Token string
	Next               int64
	Turns              int
	Events             []event.Event
}

func doomedOptions(dir string) (engine.Options, *journal.Journal, error) {
	store, err := journal.Open(journal.Options{Folder: filepath.Join(dir, "journal")})
	return engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", filepath.Join(dir, "scenario.json")}, Roots: []string{filepath.Join(dir, "root")},
		Deciders:  []permission.Decider{rules{"Bash": permission.Ask}},
		Admission: []admission.Decider{admitAll{}}, Mentions: func(string) []string { return nil },
		ApprovalTimeout: time.Hour, Store: store, StateDir: dir, DiskResume: true, ResumeSecret: "a secret of this test",
	}, store, err
}

// doomed runs a server whose session waits for an answer, and says so.
func doomed(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Unsetenv(doomedServer) // its CLI is this binary too
	o, _, err := doomedOptions(dir)
	check(err)
	e, err := engine.New(o)
	check(err)
	s, err := e.Start(context.Background(), engine.StartParams{Prompt: "go"})
	check(err)
	for s.Info().State.Busy() {
		time.Sleep(time.Millisecond)
	}
	_, err = s.Prompt(context.Background(), engine.ReplyParams{Prompt: "more"})
	check(err)
	for len(s.Pending()) == 0 {
		time.Sleep(time.Millisecond)
	}
	request := s.Pending()[0].RequestID
	if _, err := os.Stat(filepath.Join(dir, doomedStops)); err == nil {
		check(s.Stop(context.Background(), stop))
	}
	page := s.Events(nil, 0)
	r := report{ID: s.ID(), Request: request, Token: s.ResumeToken(), Next: page.Next, Turns: s.Info().TotalTurns, Events: page.Events}
	check(json.NewEncoder(os.Stdout).Encode(r))
	select {}
}

func startDoomed(t *testing.T, dir string) (report, *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), doomedServer+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var r report
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &r) != nil {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return r, cmd
}

// TestServersOnOneFolder: one is killed with -9 in the middle of a turn, and what it
// told is there for the other.
func TestServersOnOneFolder(t *testing.T) {
	dir := doomedFolder(t)
	r, victim := startDoomed(t, dir)
	h := serverOn(t, dir)
	resume := engine.ResumeParams{SessionID: r.ID, Token: r.Token, Reply: engine.ReplyParams{Prompt: "go on"}}
	resume.Options.Cwd = filepath.Join(dir, "root")
	whileItLives(t, h, r, resume)

	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	victim.Wait()
	kept := afterItsDeath(t, h, r)
	h.mustClose()
	h = serverOn(t, dir)
	if again := h.mustFind(r.ID); again.Events(nil, 0).Next != kept.Events(nil, 0).Next {
		t.Errorf("a third server told the end again:\n%s", dump(again))
	}
	s := resumedOnce(t, h, resume)
	info := h.settled(s)
	if info.Result.Result != "resumed" || info.TotalTurns <= r.Turns {
		t.Errorf("resumed: %+v", info.Result)
	}
	for i, e := range s.Events(nil, 0).Events {
		if e.ID != int64(i) {
			t.Fatalf("event %d has id %d", i, e.ID)
		}
	}
}

func doomedFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scenario.json"), []byte(doomedScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestContinueAfterAKill: a session of a server that was killed with -9, in the middle
// of a turn or after a stop, goes on by its id alone.
func TestContinueAfterAKill(t *testing.T) {
	for _, stops := range []bool{false, true} {
		dir := doomedFolder(t)
		if stops {
			if err := os.WriteFile(filepath.Join(dir, doomedStops), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, victim := startDoomed(t, dir)
		h := serverOn(t, dir)
		if _, err := h.Continue(t.Context(), r.ID, engine.ReplyParams{Prompt: "go on"}); engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "another gatehouse server") {
			t.Errorf("while it lives: %v", err)
		}
		if err := victim.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		victim.Wait()
		if i := h.mustFind(r.ID).Info(); i.Stopped != stops || stops && i.CancelledReason != stop.Reason {
			t.Errorf("stopped %v, shown as %+v", stops, i)
		}
		turn := continuedOnce(t, h, r.ID)
		if got := h.mustWait(turn); got.Result != "resumed" || got.SessionTotalTurns <= r.Turns || turn.From() < r.Next {
			t.Errorf("from event %d: %+v", turn.From(), got)
		}
		idsInOrder(t, turn.Session())
	}
}

// continuedOnce continues a session as soon as the CLI of the dead server is gone.
func continuedOnce(t *testing.T, h harness, id string) *engine.Turn {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		turn, err := h.Continue(within(t), id, engine.ReplyParams{Prompt: "go on"})
		if err == nil {
			return turn
		}
		if engine.CodeOf(err) != engine.SessionBusy || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func serverOn(t *testing.T, dir string) harness {
	t.Helper()
	o, store, err := doomedOptions(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, doomedScenario, func(given *engine.Options) { *given = o })
	h.dir = filepath.Join(dir, "root")
	t.Cleanup(func() { h.mustClose(); store.Close() })
	return h
}

func whileItLives(t *testing.T, h harness, r report, resume engine.ResumeParams) {
	t.Helper()
	if list, err := h.Sessions(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("a session of a living server is listed: %v, %v", list, err)
	}
	if _, err := h.Find(r.ID); engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "another gatehouse server") {
		t.Errorf("found: %v", err)
	}
	if _, err := h.Resume(t.Context(), resume); engine.CodeOf(err) != engine.SessionBusy {
		t.Errorf("resumed: %v", err)
	}
	resume.Reply.Fork = true
	fork, err := h.Resume(t.Context(), resume)
	if err != nil {
		t.Fatalf("fork: %v", err)
	}
	h.settled(fork)
	if err := fork.Cancel(t.Context(), "seen", "test"); err != nil {
		t.Error(err)
	}
}

func afterItsDeath(t *testing.T, h harness, r report) *engine.Session {
	t.Helper()
	kept := h.mustFind(r.ID)
	info := kept.Info()
	if info.State != engine.Failed || info.Result == nil || !info.Result.IsError || len(kept.Pending()) != 0 {
		t.Errorf("shown as %+v, result %+v", info, info.Result)
	}
	page := kept.Events(nil, 0)
	if len(page.Events) != len(r.Events)+3 {
		t.Fatalf("%d events, %d were told:\n%s", len(page.Events), len(r.Events), dump(kept))
	}
	for i, e := range r.Events {
		if got := page.Events[i]; got.ID != e.ID || string(got.Data) != string(e.Data) || !got.Timestamp.Equal(e.Timestamp) {
			t.Errorf("event %d: %+v, told was %+v", i, got, e)
		}
	}
	if !find(kept, event.PermissionResult, `"requestId":"`+r.Request+`"`) {
		t.Errorf("the question is not told as denied:\n%s", dump(kept))
	}
	return kept
}

// resumedOnce resumes as soon as the CLI of the dead server is gone.
func resumedOnce(t *testing.T, h harness, p engine.ResumeParams) *engine.Session {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := h.Resume(t.Context(), p)
		if err == nil {
			return s
		}
		if engine.CodeOf(err) != engine.SessionBusy || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
