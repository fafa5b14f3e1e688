package realcli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// answerer decides what a test says to an action.
type answerer func(engine.Action) engine.Answer

// allow says yes to everything.
func allow(engine.Action) engine.Answer { return engine.Answer{Allow: true} }

// refuse says no to everything.
func refuse(engine.Action) engine.Answer { return engine.Answer{DenyMessage: "not today"} }

// start begins a session with a prompt.
func (l *lab) start(prompt string) *engine.Session {
	l.Helper()
	return l.startWith(engine.StartParams{Prompt: prompt})
}

func (l *lab) startWith(p engine.StartParams) *engine.Session {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	s, err := l.engine.Start(ctx, p)
	if err != nil {
		l.Fatalf("start: %v", err)
	}
	return s
}

// turns follows a session, answering what it asks, until n turns have ended,
// counted from its start, and it is at rest.
func (l *lab) turns(s *engine.Session, n int, answer answerer) []event.Event {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		all := s.Events(nil, 0).Events
		ended := 0
		for _, e := range all {
			if e.Type.Terminal() {
				ended++
			}
		}
		if ended >= n && !s.Info().State.Busy() {
			return all
		}
		l.answerAll(ctx, s, answer)
		brief, stop := context.WithTimeout(ctx, time.Second)
		s.Wait(brief, int64(len(all)))
		stop()
		time.Sleep(10 * time.Millisecond) // an open question ends Wait at once
	}
	l.Fatalf("turn %d did not end: %+v pending %+v\n%s", n, s.Info(), s.Pending(), dump(s))
	return nil
}

func (l *lab) answerAll(ctx context.Context, s *engine.Session, answer answerer) {
	l.Helper()
	for _, a := range s.Pending() {
		reply := answer(a)
		reply.RequestID = a.RequestID
		if err := s.Answer(ctx, reply); err != nil && engine.CodeOf(err) != engine.PermissionRequestNotFound {
			l.Errorf("answer %s %s: %v", a.ToolName, a.Input, err)
		}
	}
}

// question waits until the session asks something.
func (l *lab) question(s *engine.Session) engine.Action {
	l.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if open := s.Pending(); len(open) > 0 {
			return open[0]
		}
	}
	l.Fatalf("no question came: %+v\n%s", s.Info(), dump(s))
	return engine.Action{}
}

// eventually waits until ok.
func (l *lab) eventually(what string, ok func() bool) {
	l.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	l.Errorf("never came true: %s", what)
}

// dump renders a session's events for a failure message.
func dump(s *engine.Session) string {
	var lines []string
	for _, e := range s.Events(nil, 0).Events {
		data := string(e.Data)
		if len(data) > 600 {
			data = data[:600] + "…"
		}
		lines = append(lines, string(e.Type)+" "+data)
	}
	return strings.Join(lines, "\n")
}

// canary is a shell command that leaves a mark when it runs.
func (l *lab) canary(name string) string { return "touch '" + filepath.Join(l.marks, name) + "'" }

// commandHook is a settings value that runs command at an event.
func commandHook(command string) []object {
	return []object{{"hooks": []object{{"type": "command", "command": command}}}}
}

// untouched asserts that no canary ran and that nothing got past the gate.
func (l *lab) untouched(sessions ...*engine.Session) {
	l.Helper()
	entries, err := os.ReadDir(l.marks)
	if err != nil {
		l.Fatal(err)
	}
	for _, e := range entries {
		l.Errorf("canary %q: something of the project ran", e.Name())
	}
	for _, s := range sessions {
		if strings.Contains(dump(s), "unmediated") {
			l.Errorf("a call got past the gate:\n%s", dump(s))
		}
	}
}

// wasJudged asserts that a call met the policies.
func (l *lab) wasJudged(tool, text string) {
	l.Helper()
	if len(l.judge.find(tool, text)) == 0 {
		l.Errorf("%s with %q ran or was refused without being judged", tool, text)
	}
}

// texts returns the decoded strings of an event, joined.
func texts(e event.Event) string {
	var v any
	if json.Unmarshal(e.Data, &v) != nil {
		return string(e.Data)
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	return strings.Join(out, "\n")
}

// saw reports whether an event of the kind holds text.
func saw(events []event.Event, kind event.Kind, text string) bool {
	for _, e := range events {
		if e.Type == kind && strings.Contains(texts(e), text) {
			return true
		}
	}
	return false
}
