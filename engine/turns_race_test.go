package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// bareEngine runs no processes; it has one slot.
func bareEngine(t *testing.T) *Engine {
	return &Engine{
		o:   Options{TurnTimeout: 4 * time.Hour, IdleTTL: time.Hour, MaxConcurrent: 1, MaxPending: 8, ApprovalTimeout: time.Hour},
		log: slog.New(slog.DiscardHandler), ctx: t.Context(), slots: newSlots(1), starts: newSlots(1), sessions: map[string]*Session{},
	}
}

// waitingReply is a session at rest whose reply waits for a slot, and a process of it
// that works in the background.
func waitingReply(t *testing.T) (*Session, *process, *Turn) {
	e := bareEngine(t)
	e.slots.take().ready()
	s := e.newSession(StartParams{}, "")
	t.Cleanup(func() { s.end(nil) })
	s.state = Idle
	p := &process{session: s, inited: make(chan struct{}), tasks: map[string]struct{}{"t": {}}}
	p.deltas = p.newDeltas()
	s.proc = p
	turn, err := s.beginReply(ReplyParams{}, e.slots.take())
	if err != nil || turn.ticket.ready() {
		t.Fatalf("the reply does not wait: %v", err)
	}
	return s, p, turn
}

func fields(t *testing.T, text string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A turn that work in the background begins, or a question of it, while a reply waits
// for its slot, does not end the reply.
func TestBackgroundWorkDoesNotEndAWaitingReply(t *testing.T) {
	s, p, turn := waitingReply(t)
	q, err := s.open(permission.Request{Tool: "Bash", Input: json.RawMessage(`{}`)}, permission.Decision{})
	if err != nil || s.Info().State != Waiting {
		t.Fatalf("open: %v, state %s", err, s.Info().State)
	}
	s.close(q.ID)
	if s.state != Running {
		t.Errorf("state %d after the question, want running", s.state)
	}
	p.handleInit(frameSystem{})
	p.handleResult(fields(t, `{"subtype":"success","result":"of the background","num_turns":1,"total_cost_usd":0.5}`))
	i := s.Info()
	if turn.over || s.working != turn || i.State != Running || !i.Queued {
		t.Errorf("over %v, state %d, queued %v", turn.over, i.State, i.Queued)
	}
	if i.TotalTurns != 1 || i.TotalCostUSD != 0.5 || !said(s, event.Result, "of the background")() {
		t.Errorf("what the background did is not told: %+v\n%s", i, eventsOf(s))
	}
	if _, err := s.reply(t.Context(), ReplyParams{Prompt: "another"}, true); err == nil {
		t.Error("a second reply is taken while one waits")
	}
}

// The end of an idle process that meets a reply leaves the reply to its starter.
func TestProcessEndsWhileAReplyWaits(t *testing.T) {
	s, p, turn := waitingReply(t)
	s.processEnded(p, nil)
	if turn.over || s.state != Running || s.proc != nil {
		t.Errorf("over %v, state %d", turn.over, s.state)
	}
}

// A turn is ended by one of those who may, and told once.
func TestATurnEndsOnce(t *testing.T) {
	for range 200 {
		s, p, turn := waitingReply(t)
		s.mu.Lock()
		turn.starting, turn.proc = false, p
		s.mu.Unlock()
		var all sync.WaitGroup
		for _, end := range []func(){
			func() { turn.fail(errTest) },
			func() { turn.fail(errTest) },
			func() {
				p.handleResult(map[string]json.RawMessage{"subtype": json.RawMessage(`"success"`), "result": json.RawMessage(`"fine"`)})
			},
		} {
			all.Go(end)
		}
		all.Wait()
		<-turn.Done()
		r, ends := turn.Result(), 0
		for _, e := range s.Events(nil, 0).Events {
			if e.Type.Terminal() {
				ends++
			}
		}
		if s.state.Busy() || r.SessionID != s.id {
			t.Fatalf("state %s, result %+v", s.state, r)
		}
		if r.Code == "" && r.Result != "fine" || ends == 0 || ends > 2 {
			t.Fatalf("%d ends, result %+v", ends, r)
		}
		if next, err := s.beginReply(ReplyParams{}, nil); err != nil || next.over {
			t.Fatalf("the next turn cannot begin: %v", err)
		}
		turn.fail(errTest) // late
		turn.Abort(errTest)
		if s.state != Running || s.working.over || s.working.aborted != nil {
			t.Fatal("who was late ended the next turn")
		}
		s.end(nil)
	}
}

// Whatever is done to turns at once, each ends, and all slots come back.
func TestTurnsUnderFire(t *testing.T) {
	l := newTurnsLab(t, `{"turns":[[{"text":"one"},{"sleep_ms":5}],[{"text":"two"},{"wait_interrupt":true}],[{"exit":{"code":3}}]],
		"resume_turns":[[{"text":"back"}],[{"text":"more"},{"sleep_ms":20}]]}`, func(o *Options) { o.MaxConcurrent = 3 })
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() { l.torture(5) })
	}
	all.Wait()
}

// torture ends turns of one session at any time.
func (l *turnsLab) torture(turns int) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	turn, err := l.Begin(ctx, StartParams{Prompt: "go", SessionInitTimeout: time.Minute, TurnTimeout: time.Minute})
	for n := 0; ; n++ {
		if err != nil {
			l.t.Error(err)
			return
		}
		s := turn.Session()
		var mischief sync.WaitGroup
		mischief.Go(func() {
			time.Sleep(rand.N(60 * time.Millisecond))
			if rand.IntN(4) > 0 {
				turn.Abort(errTest)
			}
		})
		if n == turns-1 {
			mischief.Go(func() {
				time.Sleep(rand.N(60 * time.Millisecond))
				_ = s.Cancel(ctx, "enough", "test")
			})
		}
		if _, err := turn.Wait(ctx); err != nil {
			l.t.Errorf("turn %d never ended; state %s, events:\n%s", n, s.Info().State, eventsOf(s))
			return
		}
		mischief.Wait()
		if n == turns-1 {
			<-s.Done()
			return
		}
		turn, err = s.reply(ctx, ReplyParams{Prompt: "go on", TurnTimeout: time.Duration(1+rand.IntN(2)) * 200 * time.Millisecond}, true)
	}
}
