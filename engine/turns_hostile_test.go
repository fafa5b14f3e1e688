package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// A result that belongs to no turn does not end the one that begins, and is claimed,
// while it is told.
func TestAStrayResultEndsNoOtherTurn(t *testing.T) {
	e := bareEngine(t)
	var s *Session
	var turn *Turn
	e.o.Redactors = []event.Redactor{event.RedactorFunc(func(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
		if !strings.Contains(string(p.Data), "stray") || turn != nil {
			return p.Data, nil, nil
		}
		var err error
		if turn, err = s.beginReply(ReplyParams{}, nil); err != nil {
			t.Error(err)
			return p.Data, nil, nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !turn.claimLocked() {
			t.Error("the turn cannot be claimed")
		}
		return p.Data, nil, nil
	})}
	s = e.newSession(StartParams{}, "")
	defer s.end(nil)
	s.state = Idle
	s.working.endLocked(Result{SessionID: s.id})
	p := &process{session: s, inited: make(chan struct{}), tasks: map[string]struct{}{}}
	p.deltas = p.newDeltas()
	s.proc = p
	p.handleResult(fields(t, `{"subtype":"success","result":"stray"}`))
	if turn == nil || turn.over || s.state != Running {
		t.Errorf("the turn ended with %+v, state %s", turn.result, s.state)
	}
}

// A prompt waits until a turn that the CLI began by itself is over: else its result
// would be taken for that of the prompt.
func TestAReplyGetsItsOwnResult(t *testing.T) {
	l := newTurnsLab(t, `{"turns":[[{"agent":{"id":"a1","agent_id":"a1","description":"d","prompt":"p","background":true,"steps":[{"sleep_ms":1500}],
		"after":[{"tool":{"name":"Bash","input":{"command":"x"},"output":"RAN"}},{"text":"of the background"}]}},{"text":"one"}],[{"text":"two"}]]}`, func(o *Options) { o.MaxConcurrent = 1 })
	first := l.begin(nil)
	s := first.Session()
	allow := func(what string) {
		t.Helper()
		l.until(what, s, func() bool { return len(s.Pending()) > 0 })
		if err := s.Answer(t.Context(), Answer{RequestID: s.Pending()[0].RequestID, Allow: true}); err != nil {
			t.Fatal(err)
		}
	}
	allow("question for the agent")
	l.ended(first)
	held := l.slots.take()
	l.until("the slot", s, held.ready)
	second := l.reply(s, ReplyParams{})
	l.until("question of the background", s, func() bool { return len(s.Pending()) > 0 })
	held.leave()
	l.until("the slot of the reply", s, func() bool { return !s.Info().Queued })
	time.Sleep(50 * time.Millisecond)
	allow("question of the background")
	if r := l.ended(second); r.Result != "two" {
		t.Errorf("the reply got %q\n%s", r.Result, eventsOf(s))
	}
}

// A turn that has its slot, but not yet its time, is not over its limit: it waited
// longer than a turn may last.
func TestALongWaitIsNoLongTurn(t *testing.T) {
	e := bareEngine(t)
	held := e.slots.take()
	held.ready()
	s := e.newSession(StartParams{}, "")
	defer s.end(nil)
	s.state = Idle
	turn, err := s.beginReply(ReplyParams{}, e.slots.take())
	if err != nil || turn.ticket.ready() {
		t.Fatal("the reply does not wait", err)
	}
	late := time.Now().Add(e.o.TurnTimeout + time.Minute)
	if f, _ := s.fate(late); f != keepOn {
		t.Errorf("while it waits: %d", f)
	}
	held.leave() // nobody has told the session yet
	if f, _ := s.fate(late); f != keepOn {
		t.Errorf("with a slot, before its time runs: %d", f)
	}
	if err := turn.waitForSlot(); err != nil {
		t.Fatal(err)
	}
	if f, _ := s.fate(late); f != overTurn {
		t.Errorf("over its limit: %d", f)
	}
}

// A start that fails late says so of its own turn only.
func TestALateStartErrorMarksNoOtherTurn(t *testing.T) {
	s, old, turn := waitingReply(t)
	s.startEnded(old, errTest)
	if turn.aborted != nil {
		t.Errorf("the reply is aborted by the start of another turn: %v", turn.aborted)
	}
}

func TestAbortWithoutAReason(t *testing.T) {
	l := newTurnsLab(t, phases[2].scenario, nil)
	turn := l.begin(nil)
	s := turn.Session()
	l.until("the phase", s, phases[2].there(s))
	turn.Abort(nil)
	checkAborted(t, s, l.ended(turn), CancelledCode, "aborted")
}

// What an abort denies is told before the turn is told to have ended.
func TestDenialOfAnAbortComesFirst(t *testing.T) {
	for range 10 {
		l := newTurnsLab(t, phases[4].scenario, nil)
		turn := l.begin(nil)
		s := turn.Session()
		l.until("question", s, phases[4].there(s))
		turn.Abort(errTest)
		l.ended(turn)
		var denied, ended int64 = -1, -1
		for _, e := range s.Events(nil, 0).Events {
			switch {
			case e.Type == event.PermissionResult:
				denied = e.ID
			case e.Type.Terminal():
				ended = e.ID
			}
		}
		if denied < 0 || denied > ended {
			t.Fatalf("denied at %d, ended at %d:\n%s", denied, ended, eventsOf(s))
		}
	}
}

// What answers narrowed elsewhere counts where the session goes on here.
func TestCatchUpTakesTheNarrowerMode(t *testing.T) {
	for recorded, want := range map[string]string{"": modeEdits, modeDefault: modeDefault, modeDontAsk: modeDontAsk, modeBypass: modeEdits} {
		state := t.TempDir()
		l := newTurnsLab(t, `{"turns":[[{"text":"one"}]]}`, func(o *Options) {
			o.StateDir, o.DiskResume, o.ResumeSecret = state, true, "a secret of this test"
		})
		turn := l.begin(func(p *StartParams) { p.PermissionMode = modeEdits })
		s := turn.Session()
		l.ended(turn)
		if err := l.addRecord(s.ID(), resumeRecord{Mode: recorded}); err != nil {
			t.Fatal(err)
		}
		if err := s.catchUp(launch{resume: s.ID()}); err != nil {
			t.Fatal(err)
		}
		if mode := s.Info().Mode; mode != want || s.beyond != want {
			t.Errorf("recorded %q: mode %s, beyond %s; want %s", recorded, mode, s.beyond, want)
		}
	}
}
