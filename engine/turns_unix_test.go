//go:build unix

package engine

import (
	"strings"
	"syscall"
	"testing"
)

// A warm process that does not read its prompt is ended with the turn.
func TestAbortWhileAWarmProcessTakesThePrompt(t *testing.T) {
	l := newTurnsLab(t, `{"turns":[[{"text":"one"}]],"resume_turns":[[{"text":"back"}]]}`, nil)
	first := l.begin(nil)
	s := first.Session()
	if r := l.ended(first); r.Result != "one" {
		t.Fatalf("first turn: %+v", r)
	}
	if err := syscall.Kill(s.current().cli.PID(), syscall.SIGSTOP); err != nil { // it reads no more
		t.Fatal(err)
	}
	second := l.reply(s, ReplyParams{Prompt: strings.Repeat("more ", 200_000)})
	l.until("prompt sent", s, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return second.proc != nil
	})
	second.Abort(errTest)
	if r := l.ended(second); r.Code != Limit {
		t.Errorf("result %+v", r)
	}
	if r := l.ended(l.reply(s, ReplyParams{})); r.Result != "back" {
		t.Errorf("reply: %+v\n%s", r, eventsOf(s))
	}
}
