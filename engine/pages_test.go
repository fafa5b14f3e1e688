package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// collect ranges over a session's pages until they end and returns the ids.
func collect(t *testing.T, s *engine.Session, each func(event.Page)) (ids []int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for p := range s.Pages(ctx) {
		for _, e := range p.Events {
			ids = append(ids, e.ID)
		}
		if each != nil {
			each(p)
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("the pages never ended; state %s", s.Info().State)
	}
	return ids
}

func allowOpen(t *testing.T, s *engine.Session) func(event.Page) {
	return func(event.Page) {
		for _, a := range s.Pending() {
			if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
				t.Error(err)
			}
		}
	}
}

// idsFrom are the ids of all events that are kept, from one on.
func idsFrom(s *engine.Session, from int64) (ids []int64) {
	for _, e := range s.Events(&from, 0).Events {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestPages: a question is answered in the loop, each event comes once, and a reply
// begins where the turn before has ended.
func TestPages(t *testing.T) {
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprintf("stored=%v", stored), func(t *testing.T) {
			h := newHarness(t, askOnce, func(o *engine.Options) {
				if stored {
					o.Store, o.MaxEventBytes = newMemoryStore(), 1
				}
			})
			s := h.mustStart()
			first := collect(t, s, allowOpen(t, s))
			if !slices.Equal(first, idsFrom(s, 0)) || s.Info().State != engine.Idle {
				t.Fatalf("ids %v of %v, state %s", first, idsFrom(s, 0), s.Info().State)
			}
			if again := collect(t, s, nil); !slices.Equal(again, first) {
				t.Errorf("again: %v, want %v", again, first)
			}
			if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
				t.Fatal(err)
			}
			from := first[len(first)-1] + 1
			if second := collect(t, s, nil); len(second) == 0 || !slices.Equal(second, idsFrom(s, from)) {
				t.Errorf("second turn: %v, want %v", second, idsFrom(s, from))
			}
		})
	}
}

// TestPagesOfParallelQuestions: each question that opens has a page of its own.
func TestPagesOfParallelQuestions(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"parallel":[{"name":"Bash","input":{"command":"a"},"concurrent":true},{"name":"Bash","input":{"command":"b"},"concurrent":true}]},{"tool":{"name":"Bash","input":{"command":"c"}}},{"text":"end"}]]}`, nil)
	s := h.mustStart()
	answered := 0
	collect(t, s, func(event.Page) {
		for _, a := range s.Pending() {
			answered++
			if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
				t.Error(err)
			}
		}
	})
	if answered != 3 {
		t.Errorf("%d questions were seen, want 3", answered)
	}
}

func TestPagesEnd(t *testing.T) {
	t.Run("left", func(t *testing.T) {
		s := newHarness(t, askOnce, nil).mustStart()
		for range s.Pages(t.Context()) {
			break
		}
		if !s.Info().State.Busy() {
			t.Errorf("state %s, want the turn under way", s.Info().State)
		}
	})
	t.Run("context", func(t *testing.T) {
		h := newHarness(t, askOnce, nil)
		s := h.mustStart()
		h.action(s)
		ctx, cancel := context.WithCancel(t.Context())
		pages := 0
		for range s.Pages(ctx) {
			pages++
			if len(s.Pending()) > 0 {
				cancel()
			}
		}
		if cancel(); pages == 0 || len(s.Pending()) != 1 {
			t.Errorf("%d pages, %d questions", pages, len(s.Pending()))
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		h := newHarness(t, askOnce, nil)
		s := h.mustStart()
		h.action(s)
		ids := collect(t, s, func(event.Page) {
			if s.Info().State != engine.Cancelled {
				if err := s.Cancel(t.Context(), "enough", "test"); err != nil {
					t.Error(err)
				}
			}
		})
		if !slices.Equal(ids, idsFrom(s, 0)) {
			t.Errorf("ids %v of %v", ids, idsFrom(s, 0))
		}
		select {
		case <-s.Done():
		default:
			t.Error("the pages ended before the session had")
		}
	})
}

// TestPagesTellWhatIsLost: where events are not kept any more, the page says so.
func TestPagesTellWhatIsLost(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"flood":50},{"text":"end"}]]}`, func(o *engine.Options) { o.MaxEventBytes = 2000 })
	s := h.mustStart()
	h.settled(s)
	var pages []event.Page
	collect(t, s, func(p event.Page) { pages = append(pages, p) })
	if len(pages) != 1 || pages[0].ResetTo == nil || len(pages[0].Events) == 0 || *pages[0].ResetTo != pages[0].Events[0].ID {
		t.Errorf("pages: %+v", pages)
	}
}

// TestPagesOfAKeptSession: a session of an earlier run shows its last turn.
func TestPagesOfAKeptSession(t *testing.T) {
	store, state := newMemoryStore(), t.TempDir()
	change := func(o *engine.Options) { o.Store, o.StateDir = store, state }
	h := newHarness(t, askOnce, change)
	s := h.mustStart()
	first := collect(t, s, allowOpen(t, s))
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	collect(t, s, nil)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := newHarness(t, askOnce, func(o *engine.Options) { change(o); o.Roots = []string{h.dir} })
	kept, err := later.Find(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	from := first[len(first)-1] + 1
	if ids := collect(t, kept, nil); len(ids) == 0 || !slices.Equal(ids, idsFrom(kept, from)) {
		t.Errorf("ids %v, want %v", ids, idsFrom(kept, from))
	}
}

// TestPagesOfAStoreThatCannotBeRead: the loop waits, and goes on when it can.
func TestPagesOfAStoreThatCannotBeRead(t *testing.T) {
	store := newMemoryStore()
	h := newHarness(t, askOnce, func(o *engine.Options) { o.Store, o.MaxEventBytes = store, 1 })
	s := h.mustStart()
	want := collect(t, s, allowOpen(t, s))
	store.failing("read")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for p := range s.Pages(ctx) {
		t.Errorf("a page of a store that cannot be read: %+v", p)
	}
	store.failing()
	if ids := collect(t, s, nil); !slices.Equal(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}
