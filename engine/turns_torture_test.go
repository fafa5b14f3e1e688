package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/journal"
)

// tortureSeed names a seed of TestSessionsUnderFire, to run it once more.
const tortureSeed = "GATEHOUSE_TEST_SEED"

// tortured tells its prompt at the end of each turn, so that a turn knows its result.
const tortured = `{"turns":[[{"reveal":"prompt"}],
	[{"tool":{"name":"Bash","input":{"command":"x"},"output":"RAN"}},{"reveal":"prompt"}],
	[{"agent":{"id":"a1","agent_id":"a1","description":"d","prompt":"p","background":true,"steps":[{"sleep_ms":20}],
		"after":[{"tool":{"name":"Bash","input":{"command":"y"},"output":"RAN"}},{"text":"of the background"}]}},{"reveal":"prompt"}],
	[{"sleep_ms":30},{"reveal":"prompt"}],[{"exit":{"code":3}}]],
	"resume_turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"RAN"}},{"reveal":"prompt"}],
	[{"reveal":"prompt"}],[{"text":"deaf"},{"wait_interrupt":true}]]}`

// fire does whatever clients, owners and clocks may do to a few sessions, at once.
type fire struct {
	*turnsLab
	ctx context.Context

	mu    sync.Mutex
	ids   []string
	turns []*Turn // the newest ones
	n     int
	ends  sync.WaitGroup
	all   map[string]bool
	final map[string]bool
	told  map[string]int // how turns ended, and why calls were refused
}

// began looks after a turn: it ends, with its own result.
func (f *fire) began(t *Turn, err error, token string) {
	if err != nil {
		f.codeKnown(err)
		return
	}
	f.mu.Lock()
	if id := t.Session().ID(); !f.all[id] && len(f.ids) < 5 {
		f.ids = append(f.ids, id)
	}
	f.all[t.Session().ID()] = true
	f.turns = append(f.turns[max(len(f.turns)-7, 0):], t)
	f.mu.Unlock()
	f.ends.Go(func() {
		s := t.Session()
		r, err := t.Wait(f.ctx)
		f.mu.Lock()
		f.told[fmt.Sprintf("%v %s", r.IsError, r.Code)]++
		f.mu.Unlock()
		switch {
		case err != nil:
			f.t.Errorf("turn %s of %s never ended; state %s, events:\n%s", token, s.ID(), s.Info().State, eventsOf(s))
		case r.SessionID != s.ID():
			f.t.Errorf("turn %s of %s ended with the result of %q", token, s.ID(), r.SessionID)
		case !r.IsError && !strings.Contains(r.Result, token):
			f.t.Errorf("turn %s of %s ended with %q\n%s", token, s.ID(), r.Result, eventsOf(s))
		case r.IsError && r.ErrorType == "":
			f.t.Errorf("a failed turn has no error type: %+v", r)
		}
	})
}

// codeKnown lets refusals pass that somebody else's doings explain.
func (f *fire) codeKnown(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	f.told["refused: "+string(CodeOf(err))]++
	f.mu.Unlock()
	if !slices.Contains([]Code{SessionBusy, CancelledCode, SessionNotFound, PermissionRequestNotFound, InvalidArgument}, CodeOf(err)) {
		f.t.Errorf("refused: %v", err)
	}
}

func (f *fire) token() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return fmt.Sprintf("prompt-%d-of-the-test", f.n)
}

func (f *fire) begin(r *rand.Rand) {
	token := f.token()
	t, err := f.Begin(f.ctx, StartParams{Prompt: token, SessionInitTimeout: 2 * time.Minute, TurnTimeout: f.limit(r)})
	f.began(t, err, token)
}

func (f *fire) limit(r *rand.Rand) time.Duration {
	if r.IntN(3) > 0 {
		return 0
	}
	return time.Duration(1+r.IntN(1500)) * time.Millisecond
}

// act does one thing to one session.
func (f *fire) act(r *rand.Rand) {
	f.mu.Lock()
	id := "" // all have ended at this moment
	if len(f.ids) > 0 {
		id = f.ids[r.IntN(len(f.ids))]
	}
	turn := f.turns[r.IntN(len(f.turns))]
	f.mu.Unlock()
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		token := f.token()
		t, err := f.Continue(f.ctx, id, ReplyParams{Prompt: token, TurnTimeout: f.limit(r), Fork: r.IntN(8) == 0, SessionInitTimeout: 2 * time.Minute})
		f.began(t, err, token)
	case 4:
		turn.Abort(errTest)
	case 5:
		if s, err := f.Find(id); err == nil {
			f.codeKnown(s.Stop(f.ctx, StopParams{Reason: "stopped", Source: "test", Force: r.IntN(2) == 0}))
		}
	case 6, 7, 8, 9:
		f.answer(id, r)
	case 10:
		f.expireSoon(id)
		if r.IntN(6) == 0 {
			f.cancel(id, r)
		}
	default:
		if _, err := f.Sessions(f.ctx, false); err != nil {
			f.t.Error(err)
		}
	}
	time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
}

// cancel ends a session for good, and begins another.
func (f *fire) cancel(id string, r *rand.Rand) {
	s, err := f.Find(id)
	if err == nil {
		err = s.Cancel(f.ctx, "enough", "test")
	}
	if err != nil {
		f.codeKnown(err)
		return
	}
	f.mu.Lock()
	f.final[id] = true
	f.ids = slices.DeleteFunc(f.ids, func(other string) bool { return other == id })
	f.mu.Unlock()
	f.begin(r)
}

func (f *fire) answer(id string, r *rand.Rand) {
	s, err := f.Session(id)
	if err != nil {
		return
	}
	for _, a := range s.Pending() {
		f.codeKnown(s.Answer(f.ctx, Answer{RequestID: a.RequestID, Allow: r.IntN(3) > 0, Interrupt: r.IntN(4) == 0}))
	}
}

// expireSoon is what the sweeper does when nobody asked for a session in a long time.
func (f *fire) expireSoon(id string) {
	f.Engine.mu.Lock()
	s := f.sessions[id]
	f.Engine.mu.Unlock()
	if s != nil {
		s.expire(time.Now().Add(f.o.IdleTTL + time.Minute))
	}
}

// TestSessionsUnderFire: whatever is done to sessions at once, each turn ends, with
// its own result, no slot is lost, and what is left of each session can be read.
func TestSessionsUnderFire(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv(tortureSeed); given != "" {
		seed, _ = strconv.ParseUint(given, 10, 64)
	}
	t.Logf("%s=%d", tortureSeed, seed)
	store, err := journal.Open(journal.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	state := t.TempDir()
	l := newTurnsLab(t, tortured, func(o *Options) {
		o.MaxConcurrent, o.Store, o.StateDir = 3, store, state
		o.ApprovalTimeout, o.MaxDenials, o.MaxQuestions, o.WarmTTL, o.SweepEvery = 150*time.Millisecond, -1, -1, 50*time.Millisecond, 20*time.Millisecond
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	f := &fire{turnsLab: l, ctx: ctx, all: map[string]bool{}, told: map[string]int{}, final: map[string]bool{}}
	first := rand.New(rand.NewPCG(seed, 0))
	for range 4 {
		f.begin(first)
	}
	var actors sync.WaitGroup
	for n := range 6 {
		actors.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)+1))
			for range tortureSteps {
				f.act(r)
			}
		})
	}
	actors.Wait()
	f.quench()
	t.Log(f.told)
}

// tortureSteps are what each actor does.
const tortureSteps = 30

// quench ends it all, half of it for good, and looks at what is left.
func (f *fire) quench() {
	f.t.Helper()
	var over sync.WaitGroup
	n := 0
	for id := range f.all {
		n++
		final := n%2 == 0
		over.Go(func() {
			s, err := f.Find(id)
			if err != nil {
				f.codeKnown(err) // a fork that never began
				return
			}
			if final {
				f.codeKnown(s.Cancel(f.ctx, "enough", "test"))
			} else {
				f.codeKnown(s.Stop(f.ctx, StopParams{Reason: "stopped", Source: "test", Force: true}))
			}
		})
	}
	over.Wait()
	f.ends.Wait()
	for id := range f.all {
		s, err := f.Find(id)
		if err != nil {
			continue
		}
		<-s.Done()
		i := s.Info()
		if f.final[id] && i.Stopped {
			f.t.Errorf("%s was cancelled for good, and is only stopped", id)
		}
		if i.State.Busy() || i.Queued || len(s.Pending()) > 0 || i.State != Cancelled {
			f.t.Errorf("left: %+v, %v", i, s.Pending())
		}
		for n, e := range s.Events(nil, 0).Events {
			if e.ID != int64(n) {
				f.t.Errorf("event %d of %s has id %d", n, id, e.ID)
				break
			}
		}
	}
}
