package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// readEachTurn asks for Read in each turn, which tells the test when a turn runs.
const readEachTurn = `{"turns":[[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"y"}},{"text":"end"}],
	[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"y"}},{"text":"end"}]]}`

// lineLab has one slot, which the test has.
func lineLab(t *testing.T, change func(*Options)) (l *turnsLab, open func()) {
	t.Helper()
	l = newTurnsLab(t, readEachTurn, func(o *Options) {
		o.MaxConcurrent = 1
		if change != nil {
			change(o)
		}
	})
	held := l.slots.take()
	if !held.ready() {
		t.Fatal("the only slot is not free")
	}
	t.Cleanup(held.leave)
	return l, held.leave
}

// Twenty waiting turns run in the order they came; who leaves the line changes
// nothing for the others.
func TestWaitingTurnsRunInOrder(t *testing.T) {
	l, open := lineLab(t, nil)
	var turns []*Turn
	var want []string
	for i := range 20 {
		turn := l.begin(nil)
		turns = append(turns, turn)
		if i != 4 && i != 9 && i != 14 {
			want = append(want, turn.Session().ID())
		}
	}
	for i, turn := range turns {
		s := turn.Session()
		if !s.Info().Queued || s.Info().State != Starting || !said(s, event.Notice, `"type":"queued"`)() {
			t.Errorf("session %d does not say that it waits: %+v", i, s.Info())
		}
	}
	turns[4].Abort(errTest)
	if err := turns[9].Session().Cancel(t.Context(), "enough", "test"); err != nil {
		t.Error(err)
	}
	if err := turns[14].Session().Stop(t.Context(), StopParams{Reason: "stopped", Source: "test"}); err != nil {
		t.Error(err)
	}
	for i, code := range map[int]Code{4: Limit, 9: CancelledCode, 14: CancelledCode} {
		if r := l.ended(turns[i]); r.Code != code || turns[i].Session().Info().Queued {
			t.Errorf("session %d: queued %v, %+v", i, turns[i].Session().Info().Queued, r)
		}
	}
	open()
	for i, turn := range turns {
		if r := l.ended(turn); r.Code == "" && r.Result != "end" {
			t.Errorf("session %d: %+v", i, r)
		}
	}
	if got := l.order(); !slices.Equal(got, want) {
		t.Errorf("order of turns\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Replies and starts wait in one line, and a reply tells that it waits.
func TestRepliesWaitInTheSameLine(t *testing.T) {
	l := newTurnsLab(t, readEachTurn, func(o *Options) { o.MaxConcurrent = 1 })
	old := l.begin(nil)
	if r := l.ended(old); r.Result != "end" {
		t.Fatalf("first turn: %+v", r)
	}
	held := l.slots.take()
	defer held.leave()
	l.until("the slot", old.Session(), held.ready) // it comes back a moment after the turn ended
	a, b, c := l.begin(nil), l.reply(old.Session(), ReplyParams{}), l.begin(nil)
	if i := old.Session().Info(); !i.Queued || i.State != Running {
		t.Errorf("a waiting reply: %+v", i)
	}
	var told []event.Event
	for _, e := range old.Session().Events(nil, 0).Events {
		if e.ID >= b.From() {
			told = append(told, e)
		}
	}
	if len(told) != 1 || !strings.Contains(string(told[0].Data), `"type":"queued"`) {
		t.Errorf("events of a waiting reply: %v", told)
	}
	held.leave()
	for _, turn := range []*Turn{a, b, c} {
		if r := l.ended(turn); r.Result != "end" {
			t.Errorf("turn: %+v", r)
		}
	}
	want := []string{old.Session().ID(), a.Session().ID(), b.Session().ID(), c.Session().ID()}
	if got := l.order(); !slices.Equal(got, want) {
		t.Errorf("order of turns %v, want %v", got, want)
	}
}

// slowAdmission holds the admission of the prompt "slow", and refuses "no".
type slowAdmission struct{ arrived, go_ chan struct{} }

func (a slowAdmission) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	switch string(r.Parameters["model"]) {
	case `"slow"`:
		close(a.arrived)
		<-a.go_
	case `"no"`:
		return permission.Decision{Effect: permission.Deny, Rule: "test.no", Reason: "the test wants it"}, nil
	}
	return permission.Decision{Effect: permission.Allow}, nil
}

// The place in the line is that of the call, however long it takes to decide on it.
func TestSlowAdmissionKeepsItsPlace(t *testing.T) {
	slow := slowAdmission{make(chan struct{}), make(chan struct{})}
	l, open := lineLab(t, func(o *Options) { o.Admission = []admission.Decider{slow} })
	var first *Turn
	var calls sync.WaitGroup
	calls.Go(func() { // ends when it is admitted
		var err error
		if first, err = l.Begin(t.Context(), StartParams{Prompt: "go", Model: "slow"}); err != nil {
			t.Error(err)
		}
	})
	<-slow.arrived
	second := l.begin(nil)
	if _, err := l.Begin(t.Context(), StartParams{Prompt: "go", Model: "no"}); CodeOf(err) != PermissionDenied {
		t.Errorf("a start that is refused: %v", err)
	}
	close(slow.go_)
	calls.Wait()
	open()
	l.ended(first)
	l.ended(second)
	if got, want := l.order(), []string{first.Session().ID(), second.Session().ID()}; !slices.Equal(got, want) {
		t.Errorf("order of turns %v, want %v", got, want)
	}
}

func TestCloseEndsWaitingTurns(t *testing.T) {
	l, _ := lineLab(t, nil)
	turns := []*Turn{l.begin(nil), l.begin(nil)}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		if r := l.ended(turn); r.Code != CancelledCode || !strings.Contains(r.Result, "Server shutting down") {
			t.Errorf("result %+v", r)
		}
	}
	if _, err := l.Begin(t.Context(), StartParams{Prompt: "go"}); CodeOf(err) != CancelledCode {
		t.Errorf("a start after the end: %v", err)
	}
}

func TestTickets(t *testing.T) {
	s := newSlots(1)
	a, b, c, d := s.take(), s.take(), s.take(), s.take()
	var none *ticket
	if !none.ready() || none.waits() {
		t.Error("nobody without a ticket has to wait")
	}
	none.leave()
	if !c.ready() || c.waits() {
		t.Error("a free slot waits for those that are not ready")
	}
	if d.ready() || !d.waits() || b.ready() || a.waits() {
		t.Error("who waits is not told apart")
	}
	c.leave()
	if !b.ready() || d.ready() {
		t.Error("the slot did not go to the oldest that was ready")
	}
	c.leave() // again: its slot is another's by now
	if d.ready() || s.free != 0 {
		t.Error("a slot was given twice")
	}
	d.leave()
	b.leave()
	if s.free != 1 || d.ready() {
		t.Errorf("%d slots are free; one that left got a slot: %v", s.free, d.ready())
	}
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errTest)
	if err := a.wait(gone); !errors.Is(err, errTest) || len(s.line) != 0 || s.free != 1 {
		t.Errorf("wait that was given up: %v; %d in line, %d free", err, len(s.line), s.free)
	}
}

// The limit of a turn runs from its slot on.
func TestLimitRunsFromTheSlotOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := bareEngine(t)
		held := e.slots.take()
		held.ready()
		s := e.newSession(StartParams{}, "")
		turn := s.working
		turn.limit, turn.ticket = time.Minute, e.slots.take()
		done := make(chan error)
		go func() { done <- turn.waitForSlot() }() // ends with the slot
		time.Sleep(5 * time.Hour)
		s.expire(time.Now())
		if turn.aborted != nil || !s.Info().Queued || s.Info().State != Starting {
			t.Errorf("a waiting turn was ended: %v, %+v", turn.aborted, s.Info())
		}
		held.leave()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if s.Info().Queued {
			t.Error("a turn with its slot is said to wait")
		}
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		if turn.ctx.Err() != nil {
			t.Error("the limit was shorter than it should be")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if why, _ := errors.AsType[*Error](context.Cause(turn.ctx)); why == nil || why.Code != Timeout {
			t.Errorf("the limit did not end the start: %v", context.Cause(turn.ctx))
		}
		turn.fail(context.Cause(turn.ctx))
		if r := turn.Result(); r.Code != Timeout || r.DurationMS != time.Minute.Milliseconds() || !turn.TimedOut() {
			t.Errorf("result %+v", r)
		}
		s.end(nil)
	})
}

func TestSweepEvery(t *testing.T) {
	for _, every := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			e := bareEngine(t)
			e.o.SweepEvery, e.o.IdleTTL = every, time.Millisecond
			ctx, stop := context.WithCancel(t.Context())
			e.ctx = ctx
			s := e.newSession(StartParams{}, "")
			s.state, e.sessions[s.id] = Idle, s
			e.work.Go(e.sweep) // ends with ctx
			time.Sleep(every - time.Nanosecond)
			synctest.Wait()
			if s.Info().State != Idle {
				t.Error("looked before its time")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if s.Info().State != Cancelled {
				t.Error("the idle session was not found")
			}
			stop()
			e.work.Wait()
		})
	}
	o := Options{Roots: []string{t.TempDir()}, Executable: "x", SweepEvery: -1}
	if err := o.complete(); err == nil || !strings.Contains(err.Error(), "SweepEvery") {
		t.Errorf("SweepEvery -1: %v", err)
	}
	if o.SweepEvery = 0; o.complete() != nil || o.SweepEvery != DefaultSweepEvery {
		t.Errorf("SweepEvery 0 became %s", o.SweepEvery)
	}
}
