package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// turnsLab is an engine over one scenario that allows Read, asks for all else, and at
// its end has all its slots back.
type turnsLab struct {
	*Engine
	t *testing.T

	mu   sync.Mutex
	read []string // sessions that asked for Read, in order
}

func newTurnsLab(t *testing.T, scenario string, change func(*Options)) *turnsLab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &turnsLab{t: t}
	o := Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file}, Roots: []string{t.TempDir()},
		Deciders: []permission.Decider{l}, Admission: []admission.Decider{grants{}}, Mentions: func(string) []string { return nil },
	}
	if change != nil {
		change(&o)
	}
	var err error
	if l.Engine, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

func (l *turnsLab) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Ask, Rule: "test.ask", Reason: "the test wants it", By: "policy"}
	if r.Tool == "Read" {
		d.Effect = permission.Allow
		l.mu.Lock()
		l.read = append(l.read, r.SessionID)
		l.mu.Unlock()
	}
	return d, nil
}

func (*turnsLab) Revision() string { return "1" }

// order are the sessions that asked for Read, each once.
func (l *turnsLab) order() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Compact(slices.Clone(l.read))
}

func (l *turnsLab) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		l.t.Error(err)
	}
	for what, s := range map[string]*slots{"slots": l.slots, "starts": l.starts} {
		s.mu.Lock()
		free, line := s.free, len(s.line)
		s.mu.Unlock()
		want := l.o.MaxConcurrent
		if what == "starts" {
			want = free // as many as the machine has
		}
		if free != want || line != 0 {
			l.t.Errorf("%s: %d of %d are free at the end, and %d wait", what, free, want, line)
		}
	}
}

func (l *turnsLab) begin(change func(*StartParams)) *Turn {
	l.t.Helper()
	p := StartParams{Prompt: "go", SessionInitTimeout: 2 * time.Minute}
	if change != nil {
		change(&p)
	}
	t, err := l.Begin(l.t.Context(), p)
	if err != nil {
		l.t.Fatal(err)
	}
	return t
}

func (l *turnsLab) reply(s *Session, p ReplyParams) *Turn {
	l.t.Helper()
	if p.Prompt == "" {
		p.Prompt = "go on"
	}
	t, err := s.reply(l.t.Context(), p, true)
	if err != nil {
		l.t.Fatal(err)
	}
	return t
}

// until waits for what events and states bring about.
func (l *turnsLab) until(what string, s *Session, ok func() bool) {
	l.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatalf("%s: never; state %s, events:\n%s", what, s.Info().State, eventsOf(s))
		}
	}
}

// ended is the result of a turn that has to end.
func (l *turnsLab) ended(t *Turn) Result {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := t.Wait(ctx)
	if err != nil {
		l.t.Fatalf("the turn does not end; state %s, events:\n%s", t.Session().Info().State, eventsOf(t.Session()))
	}
	return r
}

func eventsOf(s *Session) string {
	var b strings.Builder
	for _, e := range s.Events(nil, 0).Events {
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String()
}

func said(s *Session, kind event.Kind, part string) func() bool {
	return func() bool {
		return slices.ContainsFunc(s.Events(nil, 0).Events, func(e event.Event) bool {
			return e.Type == kind && strings.Contains(string(e.Data), part)
		})
	}
}

// phases are the places where a turn can be when it is ended from outside. Each has
// a scenario, and says when the turn is there.
var phases = []struct {
	name     string
	scenario string
	there    func(s *Session) func() bool
}{
	{"before the CLI answers", `{"never_initialize":true}`, func(s *Session) func() bool { return func() bool { return s.current() != nil } }},
	{"before the session is told", `{"never_init":true}`, func(s *Session) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.proc != nil && s.proc.inTurn
		}
	}},
	{"at work", `{"turns":[[{"text":"one"},{"wait_interrupt":true}]],"resume_turns":[[{"text":"back"}]]}`, func(s *Session) func() bool { return said(s, event.Output, "one") }},
	{"at work, deaf", `{"ignore_interrupt":true,"ignore_sigint":true,"turns":[[{"text":"one"},{"sleep_ms":600000}]],"resume_turns":[[{"text":"back"}]]}`,
		func(s *Session) func() bool { return said(s, event.Output, "one") }},
	{"asking", `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"RAN"}},{"text":"end"}]],"resume_turns":[[{"text":"back"}]]}`,
		func(s *Session) func() bool { return func() bool { return len(s.Pending()) > 0 } }},
}

var errTest = Errorf(Limit, "the test has had enough")

func TestAbortInEachPhase(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			l := newTurnsLab(t, p.scenario, nil)
			turn := l.begin(nil)
			s := turn.Session()
			l.until("the phase", s, p.there(s))
			turn.Abort(errTest)
			turn.Abort(Errorf(Timeout, "too late"))
			r := l.ended(turn)
			checkAborted(t, s, r, Limit, "the test has had enough")
			if turn.TimedOut() {
				t.Error("a turn that was aborted says that its limit ended it")
			}
			if !strings.Contains(p.scenario, "resume_turns") {
				return
			}
			next := l.reply(s, ReplyParams{})
			if r := l.ended(next); r.IsError || r.Result != "back" {
				t.Errorf("reply after the abort: %+v\n%s", r, eventsOf(s))
			}
			if next.From() <= turn.From() {
				t.Errorf("the reply begins at event %d, the turn before it at %d", next.From(), turn.From())
			}
		})
	}
}

// checkAborted looks at a session whose turn was ended from outside.
func checkAborted(t *testing.T, s *Session, r Result, code Code, words string) {
	t.Helper()
	if !r.IsError || r.Code != code || !strings.Contains(r.Result, "Error ["+string(code)+"]: ") || !strings.Contains(r.Result, words) {
		t.Errorf("result %+v", r)
	}
	i := s.Info()
	if i.State != Failed || i.Queued || len(s.Pending()) != 0 {
		t.Errorf("state %s, queued %v, pending %v; want error and nothing else", i.State, i.Queued, s.Pending())
	}
	ends := 0
	for _, e := range s.Events(nil, 0).Events {
		if e.Type.Terminal() {
			ends++
		}
		var m struct{ Behavior string }
		if e.Type == event.PermissionResult && (json.Unmarshal(e.Data, &m) != nil || m.Behavior != "deny") {
			t.Errorf("a question was not denied: %s", e.Data)
		}
	}
	if ends != 1 {
		t.Errorf("the end of the turn was told %d times:\n%s", ends, eventsOf(s))
	}
}

func TestLimitInEachPhase(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			l := newTurnsLab(t, p.scenario, nil)
			turn := l.begin(func(p *StartParams) { p.TurnTimeout = 300 * time.Millisecond })
			r := l.ended(turn)
			checkAborted(t, turn.Session(), r, Timeout, "300ms")
			if !turn.TimedOut() {
				t.Error("the turn does not say that its limit ended it")
			}
		})
	}
}

// The open question of a turn over its limit is told as denied, and by what.
func TestQuestionOfAnAbortedTurnIsDenied(t *testing.T) {
	l := newTurnsLab(t, phases[4].scenario, nil)
	turn := l.begin(nil)
	s := turn.Session()
	l.until("question", s, phases[4].there(s))
	id := s.Pending()[0].RequestID
	turn.Abort(errTest)
	l.ended(turn)
	if !said(s, event.PermissionResult, `"behavior":"deny","source":"abort"`)() || said(s, event.ToolResult, "RAN")() {
		t.Errorf("events:\n%s", eventsOf(s))
	}
	if err := s.Answer(t.Context(), Answer{RequestID: id, Allow: true}); CodeOf(err) != PermissionRequestNotFound {
		t.Errorf("answer after the abort: %v", err)
	}
}

func TestAbortOfAWaitingTurn(t *testing.T) {
	l := newTurnsLab(t, phases[4].scenario, func(o *Options) { o.MaxConcurrent = 1 })
	first := l.begin(nil)
	l.until("question", first.Session(), phases[4].there(first.Session()))
	second := l.begin(func(p *StartParams) { p.TurnTimeout = time.Millisecond })
	s := second.Session()
	if i := s.Info(); !i.Queued || i.State != Starting || first.Session().Info().Queued {
		t.Errorf("queued %v, state %d; first queued %v", i.Queued, i.State, first.Session().Info().Queued)
	}
	if !said(s, event.Notice, `"type":"queued"`)() {
		t.Errorf("events:\n%s", eventsOf(s))
	}
	time.Sleep(100 * time.Millisecond)
	if !s.Info().Queued {
		t.Fatal("the limit of a turn ran while it waited")
	}
	second.Abort(errTest)
	checkAborted(t, s, l.ended(second), Limit, "the test has had enough")
	if s.current() != nil {
		t.Error("a process was started")
	}
}

// What an aborted turn has cost counts when the CLI tells it at its end, and the
// next turn is not given to the process that ends.
func TestAbortedTurnsCount(t *testing.T) {
	l := newTurnsLab(t, `{"turns":[[{"text":"one"},{"result":{"num_turns":2,"cost":0.5}},{"wait_interrupt":true}]],
		"resume_turns":[[{"text":"back"},{"result":{"num_turns":1,"cost":0.25}}]]}`, nil)
	turn := l.begin(nil)
	s := turn.Session()
	l.until("text", s, said(s, event.Output, "one"))
	turn.Abort(errTest)
	if r := l.ended(turn); r.Code != Limit || r.TotalCostUSD != 0.5 || r.NumTurns != 2 {
		t.Errorf("the aborted turn: %+v", r)
	}
	if r := l.ended(l.reply(s, ReplyParams{})); r.Result != "back" || r.SessionTotalCostUSD != 0.75 || r.SessionTotalTurns != 3 {
		t.Errorf("the turn after it: %+v", r)
	}
}

func TestBeginWhoseStartFails(t *testing.T) {
	l := newTurnsLab(t, `{"exit_at_start":{"code":3,"stderr":"login expired"}}`, nil)
	turn := l.begin(nil)
	s := turn.Session()
	r := l.ended(turn)
	if !r.IsError || r.Code != Internal || r.SessionID != s.ID() || !strings.Contains(r.Result, "login expired") {
		t.Errorf("result %+v", r)
	}
	list, err := l.Sessions(t.Context(), false)
	if err != nil || len(list) != 1 || list[0].Info().State != Failed || list[0].Info().Result.Result != r.Result {
		t.Errorf("sessions %v, %v", list, err)
	}
	if r := l.ended(l.reply(s, ReplyParams{})); !strings.Contains(r.Result, "login expired") {
		t.Errorf("a reply does not try again: %+v", r)
	}
}
