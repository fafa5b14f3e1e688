//go:build unix

package crashtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
)

const (
	crashRounds   = 200
	crashSessions = 3                      // of a round
	crashLife     = 150 * time.Millisecond // of a server with sessions, at most
)

// TestCrashLoop kills servers at random times, all on one state folder, while
// their sessions write events, put calls to the policies and ask the client.
// What the client was told by one, the next one has to tell again.
func TestCrashLoop(t *testing.T) {
	rounds := crashRounds
	if testing.Short() {
		rounds = 20
	}
	w := newCrashWorld(t)
	var all, last []*toldSession
	for round := range rounds {
		s := w.serve(t)
		w.tellAgain(t, s, last)
		last = w.load(t, s)
		w.kill(t, s)
		all = append(all, last...)
		if t.Failed() {
			t.Fatalf("in round %d of %d; what it left is in no state to go on with", round+1, rounds)
		}
	}
	s := w.serve(t)
	w.tellAgain(t, s, last)
	s.end()
	w.checkJournal(t, all)
	w.checkAudit(t, all)
	w.checkLoad(t, all, rounds)
}

// crashWorld is the folder of a test: a home, a project, a state folder.
type crashWorld struct {
	dir, project, state string
	program             string // gatehouse, as go build makes it
	env                 []string
}

// crashTurns are a turn that ends and one that goes on until the kill: calls that
// the policies allow among floods of text, and now and then one they leave to the
// client.
func crashTurns() map[string]any {
	allowed := map[string]any{"tool": map[string]any{"name": "Bash", "input": map[string]any{"command": "git status --short"}, "output": "clean"}}
	asks := map[string]any{"tool": map[string]any{"name": "Bash", "input": map[string]any{"command": "git push origin main"}, "output": "pushed"}}
	flood := map[string]any{"flood": 40}
	long := []any{}
	for range 25 {
		long = append(long, flood, allowed, flood, asks, allowed, allowed)
	}
	return map[string]any{"turns": []any{[]any{allowed, map[string]any{"text": "The first turn is done."}}, long}}
}

func newCrashWorld(t *testing.T) *crashWorld {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &crashWorld{dir: dir, project: filepath.Join(dir, "project"), state: filepath.Join(dir, "state", "gatehouse")}
	for _, folder := range []string{"home", "project", "state", "tmp", filepath.Join("config", "gatehouse")} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	scenario := filepath.Join(dir, "scenario.json")
	raw, err := json.Marshal(crashTurns())
	if err != nil {
		t.Fatal(err)
	}
	w.program = filepath.Join(dir, "gatehouse")
	if out, err := exec.Command("go", "build", "-o", w.program, "..").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	// The program also plays the CLI: the command that demo uses.
	config := fmt.Sprintf("cli.executable = %q\ncli.args = [\"scripted-cli\", %q]\nlimits.max_questions = 10000\n", w.program, "--scenario="+scenario)
	for name, text := range map[string]string{scenario: string(raw), filepath.Join(dir, "config", "gatehouse", "gatehouse.toml"): config} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "HOME" && name != "TMPDIR" && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "GATEHOUSE_") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "HOME="+filepath.Join(dir, "home"), "TMPDIR="+filepath.Join(dir, "tmp"), "GORACE=atexit_sleep_ms=0",
		"XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	t.Cleanup(func() {
		for _, pid := range w.left() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return w
}

// load runs sessions until the server is killed, and returns what they told.
func (w *crashWorld) load(t *testing.T, s *crashServer) (told []*toldSession) {
	t.Helper()
	var all sync.WaitGroup
	begun := make(chan struct{}, crashSessions)
	for range crashSessions {
		one := &toldSession{events: map[int64]string{}, asked: map[string]bool{}, answered: map[string]bool{}, allowed: map[string]bool{}}
		told = append(told, one)
		all.Go(func() { // ends with the server
			if err := one.live(s, begun); !errors.Is(err, errServerGone) {
				t.Errorf("session %s: %v", one.id, err)
			}
		})
	}
	if rand.IntN(8) > 0 { // else it may be in the middle of a start
		select {
		case <-begun:
		case <-s.gone:
		}
	}
	time.Sleep(rand.N(crashLife))
	s.strike()
	all.Wait()
	return told
}

// kill waits until nothing is left of a server that was struck.
func (w *crashWorld) kill(t *testing.T, s *crashServer) {
	t.Helper()
	s.process.Wait() // its exit code is its killer's
	for end := time.Now().Add(2 * time.Minute); len(w.left()) > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("of the server and its sessions are left: %v", w.left())
		}
	}
}

// left are the processes that have to do with this world.
func (w *crashWorld) left() []int { return processesNaming(w.dir) }

// tellAgain asks a server for what an earlier one told.
func (w *crashWorld) tellAgain(t *testing.T, s *crashServer, told []*toldSession) {
	t.Helper()
	listed := s.list(t)
	for _, one := range told {
		if one.id == "" {
			continue // the client never heard of it
		}
		switch status := listed[one.id]; status {
		case "idle", "error":
		case "cancelled":
			t.Errorf("session %s was not cancelled for good, and is listed as cancelled", one.id)
		default:
			t.Errorf("session %s is listed as %q", one.id, status)
		}
		s.compare(t, one)
	}
}

// checkJournal reads everything from the disk, as it is in the end.
func (w *crashWorld) checkJournal(t *testing.T, told []*toldSession) {
	t.Helper()
	store, err := journal.Open(journal.Options{Folder: filepath.Join(w.state, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	list, err := store.Sessions()
	if err != nil {
		t.Error(err)
	}
	kept := map[string]event.SessionRecord{}
	for _, r := range list {
		kept[r.ID] = r
		if r.Live {
			t.Errorf("session %s is live without a server", r.ID)
		}
		w.onceEach(t, r.ID)
	}
	for _, one := range told {
		if r := kept[one.id]; one.id != "" && (r.State != "idle" && r.State != "error" || r.Next < one.next) {
			t.Errorf("session %s: %+v, told below %d", one.id, r, one.next)
		}
	}
}

// onceEach checks that the files of a session have each id once, in order.
func (w *crashWorld) onceEach(t *testing.T, id string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(w.state, "journal", id, "*.jsonl"))
	next := int64(0)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				ID *int64 `json:"id"`
			}
			switch err := json.Unmarshal([]byte(line), &e); {
			case err != nil:
				t.Errorf("%s: %.80q: %v", file, line, err)
			case e.ID == nil: // a record
			case *e.ID != next:
				t.Fatalf("%s: event %d follows %d", file, *e.ID, next-1)
			default:
				next++
			}
		}
	}
}

// checkAudit verifies every log, and looks for what the client was told in them.
func (w *crashWorld) checkAudit(t *testing.T, told []*toldSession) {
	t.Helper()
	report, err := audit.Verify(w.state, audit.VerifyOptions{})
	if err != nil || !report.OK {
		t.Errorf("audit logs: %+v, %v", report.Lost, err)
	}
	for _, l := range report.Logs {
		if l.Bad != nil || l.Live {
			t.Errorf("audit log of %s: live %v, %s", l.Boot, l.Live, l.Bad)
		}
	}
	type act struct{ session, kind, of string }
	recorded := map[act]bool{}
	stream := audit.NewStream(w.state, time.Time{})
	defer stream.Close()
	err = stream.Each(func(e audit.Entry) error {
		r := e.Record
		switch {
		case r.Kind == audit.Decision && r.Verdict.Effect == "allow":
			recorded[act{r.Session, "allow", r.ToolUseID}] = true
		case r.Kind == audit.Admission && r.Action == "answer":
			recorded[act{r.Session, "answer", r.RequestID}] = true
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, one := range told {
		for tool := range one.allowed {
			if !recorded[act{one.id, "allow", tool}] {
				t.Errorf("session %s: the client was told that call %s was allowed, the audit log was not", one.id, tool)
			}
		}
		for request := range one.answered {
			if !recorded[act{one.id, "answer", request}] {
				t.Errorf("session %s: the client's answer to %s is not in the audit log", one.id, request)
			}
		}
	}
}

// checkLoad fails a loop that did not try what it is meant to try.
func (w *crashWorld) checkLoad(t *testing.T, told []*toldSession, rounds int) {
	t.Helper()
	var sessions, events, results, allowed, answered, open int
	for _, one := range told {
		if one.id != "" {
			sessions++
		}
		events, results, allowed, answered = events+len(one.events), results+one.results, allowed+len(one.allowed), answered+len(one.answered)
		open += one.cutOff
	}
	t.Logf("%d rounds: %d sessions, %d events, %d results, %d allows, %d answers were told; %d questions were open at the end", rounds, sessions, events, results, allowed, answered, open)
	if sessions < rounds/2 || events < 10*rounds || results < rounds/4 || allowed < rounds/4 || answered == 0 {
		t.Error("that is too little to say anything")
	}
}
