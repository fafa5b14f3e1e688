package engine_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// watching remembers what it is told of sessions.
type watching struct {
	panics bool

	mu     sync.Mutex
	events map[string][]event.Event
	ended  map[string]int
	late   []string // sessions of which an event came after the end
}

func (w *watching) Observe(o *event.Origin, e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events == nil {
		w.events = make(map[string][]event.Event)
	}
	if w.ended[o.SessionID] > 0 {
		w.late = append(w.late, o.SessionID)
	}
	w.events[o.SessionID] = append(w.events[o.SessionID], e)
	if w.panics {
		panic("observer")
	}
}

func (w *watching) Ended(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = make(map[string]int)
	}
	w.ended[id]++
	if w.panics {
		panic("observer")
	}
}

func (w *watching) use(o *engine.Options) { o.Observers = []event.Observer{w} }

// of is what was told of a session, and how often it ended.
func (w *watching) of(id string) ([]event.Event, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events[id]), w.ended[id]
}

// same says whether the observer was told all of a session but pieces, in order.
func (w *watching) same(t *testing.T, s *engine.Session) {
	t.Helper()
	told, ended := w.of(s.ID())
	all := slices.DeleteFunc(s.Events(nil, 0).Events, func(e event.Event) bool { return e.Type == event.Partial })
	equal := slices.EqualFunc(told, all, func(a, b event.Event) bool {
		return a.ID == b.ID && a.Type == b.Type && string(a.Data) == string(b.Data)
	})
	if !equal || ended != 1 || len(w.late) > 0 {
		t.Errorf("%d events were told of %d, the end %d times, events after it of %v", len(told), len(all), ended, w.late)
	}
}

func TestObserversAreToldOfSessions(t *testing.T) {
	for _, store := range []event.Store{nil, newMemoryStore()} {
		w := &watching{}
		h := newHarness(t, `{"turns":[[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"o"}},{"partial":["some words ","in pieces"]}],[{"text":"more"}]]}`, func(o *engine.Options) {
			w.use(o)
			o.Store = store
		})
		s, err := h.start(func(p *engine.StartParams) { p.PartialMessages = true })
		if err != nil {
			t.Fatal(err)
		}
		h.settled(s)
		if !find(s, event.Partial, "") {
			t.Fatalf("the scenario has no pieces:\n%s", dump(s))
		}
		if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
			t.Fatal(err)
		}
		h.settled(s)
		if _, ended := w.of(s.ID()); ended > 0 {
			t.Error("the end of a session is told that goes on")
		}
		other := h.mustStart()
		h.settled(other)
		if err := s.Cancel(t.Context(), "enough", "client"); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		w.same(t, s)
		h.mustClose()
		w.same(t, other)
	}
}

func TestObserversAreToldOfFailedStarts(t *testing.T) {
	w := &watching{}
	h := newHarness(t, `{"exit_at_start":{"code":3}}`, w.use)
	if _, err := h.start(nil); err == nil {
		t.Fatal("the start went well")
	}
	h.mustClose()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) != 1 || len(w.ended) != 1 || len(w.late) > 0 {
		t.Errorf("events of %d sessions, ends of %d, late %v", len(w.events), len(w.ended), w.late)
	}
}

// Whoever is refused never began.
func TestObserversAreNotToldOfRefusals(t *testing.T) {
	w := &watching{}
	h := newHarness(t, `{"turns":[]}`, func(o *engine.Options) { w.use(o); o.Admission = nil })
	if _, err := h.start(nil); engine.CodeOf(err) != engine.PermissionDenied {
		t.Fatalf("start: %v", err)
	}
	h.mustClose()
	if len(w.events)+len(w.ended) > 0 {
		t.Errorf("events %v, ends %v", w.events, w.ended)
	}
}

func TestObserverThatPanics(t *testing.T) {
	var log bytes.Buffer
	bad, good := &watching{panics: true}, &watching{}
	h := newHarness(t, `{"turns":[[{"text":"one"},{"text":"two"}]]}`, func(o *engine.Options) {
		o.Observers, o.Logger = []event.Observer{bad, nil, good}, slog.New(slog.NewTextHandler(&log, nil))
	})
	s := h.mustStart()
	if i := h.settled(s); i.State != engine.Idle {
		t.Errorf("state %s", i.State)
	}
	h.mustClose()
	good.same(t, s)
	bad.same(t, s)
	if n := strings.Count(log.String(), "observer of events panicked"); n != 2 { // the one and nil
		t.Errorf("%d lines in the log:\n%s", n, log.String())
	}
}

// A session of a server that was killed: its books are closed by the next one, and a
// cancel of it is an event too. Each ends.
func TestObserversAreToldOfKeptSessions(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s := h.mustStart()
	h.action(s)
	before := s.Events(nil, 0).Next
	m.crash()
	w := &watching{}
	next := nextServer(t, h, m, askOnce, w.use)
	kept := next.mustFind(s.ID())
	told, ended := w.of(s.ID())
	if len(told) != 3 || told[0].ID != before || told[2].Type != event.Error || ended != 1 {
		t.Errorf("told %+v, the end %d times", told, ended)
	}
	if err := kept.Cancel(t.Context(), "enough", "client"); err != nil {
		t.Fatal(err)
	}
	told, ended = w.of(s.ID())
	if len(told) != 4 || !strings.Contains(string(told[3].Data), `"cancelled"`) || ended != 2 {
		t.Errorf("told %+v, the end %d times", told, ended)
	}
}

// A resume begins anew, with ids that go on.
func TestObserversOfAResumedSession(t *testing.T) {
	state, m := t.TempDir(), newMemoryStore()
	p, before := crashed(t, state, m, nil)
	w := &watching{}
	h := over(t, state, resumeScenario, p.Options.Cwd, storing(m, w.use))
	first, _ := m.Session(before.ID)
	s, err := h.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	told, ended := w.of(s.ID())
	if len(told) == 0 || told[0].ID != first.Next || ended != 0 {
		t.Errorf("told from %+v on, want %d; ended %d times", told[0], first.Next, ended)
	}
	h.mustClose()
	if _, ended := w.of(s.ID()); ended != 1 || len(w.late) > 0 {
		t.Errorf("the end is told %d times", ended)
	}
}
