package engine_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
)

// TestShutdownWithManySessions ends a server in order while its sessions do
// everything at once: what is on the disk then says that none of them runs, and the
// next server has nothing to add.
func TestShutdownWithManySessions(t *testing.T) {
	const scenario = `{"turns":[[{"text":"one"}],[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"wait_interrupt":true}]]}`
	folder := filepath.Join(t.TempDir(), "journal")
	store := openedJournal(t, folder)
	h := newHarness(t, scenario, storing(store, func(o *engine.Options) {
		o.MaxConcurrent, o.ApprovalTimeout = 50, time.Hour
	}))
	want := map[string][]string{} // states that a session may be left in
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			s, states, err := h.brought(n % 5)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			want[s.ID()] = states
		})
	}
	all.Wait()
	h.mustClose()
	store.Close()

	store = openedJournal(t, folder)
	next := map[string]int64{}
	list, err := store.Sessions()
	if err != nil || len(list) != 50 {
		t.Fatalf("%d sessions are kept, %v", len(list), err)
	}
	for _, r := range list {
		next[r.ID] = r.Next
		if r.Live || !oneOf(r.State, want[r.ID]) || r.Final != (r.State == "cancelled") {
			t.Errorf("on the disk: state %s, final %v, live %v; want one of %v", r.State, r.Final, r.Live, want[r.ID])
		}
	}
	later := nextServer(t, h, store, scenario, nil)
	shown, err := later.Sessions(t.Context(), false)
	if err != nil || len(shown) != 50 {
		t.Fatalf("%d sessions are listed, %v", len(shown), err)
	}
	for _, s := range shown {
		page := s.Events(nil, 0)
		if state := s.Info().State.String(); !oneOf(state, want[s.ID()]) || page.Next != next[s.ID()] || len(s.Pending()) > 0 {
			t.Errorf("listed: state %s, %d events, before %d", state, page.Next, next[s.ID()])
		}
		if last := lastTurn(page); last == nil || s.Info().State == engine.Failed && last.Type != event.Error {
			t.Errorf("the end of the last turn is not told:\n%s", dump(s))
		}
	}
}

func oneOf(word string, words []string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// lastTurn is the end of the last turn, nil if none is told.
func lastTurn(p event.Page) (end *event.Event) {
	for i, e := range p.Events {
		if e.Type.Terminal() {
			end = &p.Events[i]
		}
	}
	return end
}

func openedJournal(t *testing.T, folder string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(journal.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// brought starts a session and brings it where it should be at the end, and says
// in which states the end may leave it: a CLI that is interrupted ends its turn as
// it likes.
func (h harness) brought(where int) (*engine.Session, []string, error) {
	ctx := context.Background()
	s, err := h.start(nil)
	if err != nil {
		return nil, nil, err
	}
	if where == 0 { // at work, maybe before its first event
		return s, []string{"idle", "error"}, nil
	}
	h.settled(s)
	switch where {
	case 1:
		return s, []string{"idle"}, nil
	case 2:
		return s, []string{"cancelled"}, s.Cancel(ctx, "enough", "test")
	}
	if _, err := s.Prompt(ctx, engine.ReplyParams{Prompt: "more"}); err != nil {
		return nil, nil, err
	}
	a := h.action(s)
	if where == 4 {
		err = s.Answer(ctx, engine.Answer{RequestID: a.RequestID, Allow: true})
	}
	return s, []string{"idle", "error"}, err
}
