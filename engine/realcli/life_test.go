package realcli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// processes lists the pids whose environment names the lab's home folder: the
// CLI and whatever it started.
func (l *lab) processes() []int {
	l.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		l.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		env, err := os.ReadFile(file) // gone or not ours
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool {
			return string(kv) == "HOME="+l.home
		}) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc, which only Linux has")
	}
}

func TestCancelLeavesNothingAlive(t *testing.T) {
	needProc(t)
	l := newLab(t)
	l.serve(bash("sleep 300 & echo $! > pid.txt; wait"), fakeapi.Say("never said"))
	l.open()
	s := l.start("go")
	a := l.question(s)
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
		t.Fatal(err)
	}
	l.eventually("the tool runs", func() bool { return exists(l.path("pid.txt")) })
	if len(l.processes()) < 2 {
		t.Errorf("processes %v, want the CLI and its tool", l.processes())
	}
	begun := time.Now()
	if err := s.Cancel(t.Context(), "test", "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Error("session is not done 10 s after its cancel")
	}
	if left := l.processes(); len(left) > 0 {
		t.Errorf("alive %v after the cancel: %v", time.Since(begun), left)
	}
	if s.Info().State != engine.Cancelled {
		t.Errorf("state %s, want cancelled", s.Info().State)
	}
}

func TestCancelDropsOpenQuestion(t *testing.T) {
	l := newLab(t)
	l.serve(bash("echo x > made.txt"), fakeapi.Say("never said"))
	l.open()
	s := l.start("go")
	a := l.question(s)
	if err := s.Cancel(t.Context(), "test", "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err == nil {
		t.Error("an answer after the cancel was taken")
	}
	<-s.Done()
	if exists(l.path("made.txt")) || len(s.Pending()) > 0 {
		t.Errorf("made.txt %v, pending %v", exists(l.path("made.txt")), s.Pending())
	}
}

func TestDenyWithInterruptEndsTheTurnOnly(t *testing.T) {
	l := newLab(t)
	l.serve(bash("echo x > made.txt"), fakeapi.Say("second turn"))
	l.open()
	s := l.start("go")
	l.turns(s, 1, func(engine.Action) engine.Answer { return engine.Answer{DenyMessage: "stop", Interrupt: true} })
	l.reply(s, "again")
	l.turns(s, 2, refuse)
	if r := s.Info().Result; r == nil || r.Result != "second turn" || exists(l.path("made.txt")) {
		t.Errorf("result %+v, made.txt %v", r, exists(l.path("made.txt")))
	}
}

func (l *lab) reply(s *engine.Session, prompt string) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	if _, err := s.Prompt(ctx, engine.ReplyParams{Prompt: prompt}); err != nil {
		l.Fatalf("reply: %v", err)
	}
}

func TestReplyInTheSameProcess(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("one"), bash("echo x > made.txt"), fakeapi.Say("two"))
	l.open()
	s := l.start("MARK-FIRST")
	l.turns(s, 1, allow)
	l.reply(s, "second")
	l.turns(s, 2, allow)
	if info := s.Info(); info.Result == nil || info.Result.Result != "two" || info.TotalTurns < 2 {
		t.Errorf("info %+v result %+v", info, info.Result)
	}
	l.wasJudged("Bash", "made.txt")
	if !exists(l.path("made.txt")) {
		t.Error("the allowed call of the second turn did not run")
	}
}

// transcript reads what the CLI keeps of a session; it writes some time after a
// turn's result, and without the file a session cannot be resumed.
func (l *lab) transcript(s *engine.Session) string {
	l.Helper()
	files, err := filepath.Glob(filepath.Join(l.home, ".claude/projects/*", s.ID()+".jsonl"))
	if err != nil || len(files) == 0 {
		return ""
	}
	text, _ := os.ReadFile(files[0]) // not there yet
	return string(text)
}

func TestReplyAfterTheProcessEnded(t *testing.T) {
	needProc(t)
	l := newLab(t)
	l.serve(fakeapi.Say("one"), bash("echo x > made.txt"), fakeapi.Say("two"))
	l.open()
	s := l.start("MARK-FIRST")
	l.turns(s, 1, allow)
	l.eventually("the CLI has written the turn to disk", func() bool { return strings.Contains(l.transcript(s), `"one"`) })
	for _, pid := range l.processes() {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // may have ended by itself
		}
	}
	l.eventually("the CLI is gone", func() bool { return len(l.processes()) == 0 })
	time.Sleep(100 * time.Millisecond) // the engine learns of it
	l.reply(s, "second")
	l.turns(s, 2, allow)
	requests := l.api.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "MARK-FIRST") {
		t.Error("the resumed conversation lost its first prompt")
	}
	l.wasJudged("Bash", "made.txt")
	if !exists(l.path("made.txt")) {
		t.Errorf("the allowed call did not run:\n%s", dump(s))
	}
}

func TestForkIsASessionOfItsOwn(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("one"), bash("echo x > made.txt"), fakeapi.Say("two"))
	l.open()
	s := l.start("MARK-FIRST")
	l.turns(s, 1, allow)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	fork, err := s.Prompt(ctx, engine.ReplyParams{Prompt: "elsewhere", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	l.turns(fork, 1, allow)
	if fork.ID() == s.ID() || fork.Info().ParentID != s.ID() {
		t.Errorf("fork %s of %s, parent %s", fork.ID(), s.ID(), fork.Info().ParentID)
	}
	requests := l.api.Requests()
	if !strings.Contains(string(requests[len(requests)-1].Body), "MARK-FIRST") {
		t.Error("the fork lost the history")
	}
	l.wasJudged("Bash", "made.txt")
	l.untouched(s, fork)
}

// agentCall starts a sub-agent whose conversation is the lane CHILD.
func agentCall(background bool) fakeapi.Turn {
	return fakeapi.Use("Agent", object{
		"description": "look around", "prompt": "CHILD look around", "subagent_type": "general-purpose",
		"run_in_background": background,
	})
}

func TestSubAgentCallsAreJudged(t *testing.T) {
	l := newLab(t)
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{agentCall(false), fakeapi.Say("main done")},
		Lanes: []fakeapi.Lane{{Match: "CHILD", Turns: []fakeapi.Turn{bash("echo x > child.txt"), bash("echo y > second.txt"), fakeapi.Say("child done")}}},
	})
	l.open()
	s := l.start("go")
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		return engine.Answer{Allow: !strings.Contains(string(a.Input), "second.txt")}
	})
	found := l.judge.find("Bash", "child.txt")
	if len(found) == 0 || found[len(found)-1].AgentID == "" {
		t.Errorf("judged %+v, want the agent's id", found)
	}
	if !exists(l.path("child.txt")) || exists(l.path("second.txt")) {
		t.Errorf("child.txt %v, second.txt %v", exists(l.path("child.txt")), exists(l.path("second.txt")))
	}
	l.untouched(s)
}

func TestBackgroundAgentIsJudgedAfterTheFirstResult(t *testing.T) {
	l := newLab(t)
	child := bash("echo x > child.txt")
	child.Delay = time.Second
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{agentCall(true), fakeapi.Say("started"), fakeapi.Say("noticed the end")},
		Lanes: []fakeapi.Lane{{Match: "CHILD", Turns: []fakeapi.Turn{child, fakeapi.Say("child done")}}},
	})
	l.open()
	s := l.start("go")
	events := l.turns(s, 2, allow)
	if !saw(events, event.Result, "started") || !saw(events, event.Result, "noticed the end") {
		t.Errorf("want two results:\n%s", dump(s))
	}
	l.wasJudged("Bash", "child.txt")
	if !exists(l.path("child.txt")) {
		t.Error("the background agent's allowed call did not run")
	}
	l.untouched(s)
}
