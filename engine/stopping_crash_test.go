package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// TestCrashBetweenTwoWrites kills the server after each write of a stop, a cancel and
// a continue: what was confirmed holds, and the books can be closed.
func TestCrashBetweenTwoWrites(t *testing.T) {
	const scenario = `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"text":"one"}]],"resume_turns":[[{"text":"back"}]]}`
	for _, what := range []string{"stop", "cancel", "continue"} {
		t.Run(what, func(t *testing.T) {
			for n := range 12 {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					t.Parallel()
					crashAfter(t, scenario, what, n)
				})
			}
		})
	}
}

func crashAfter(t *testing.T, scenario, what string, writes int) {
	m := newMemoryStore()
	h := newHarness(t, scenario, storing(m, nil))
	s := h.mustBegin(nil).Session()
	h.action(s)
	if what == "continue" {
		h.mustStop(s)
	}
	m.failingAfter(writes)
	var err error
	var turn *engine.Turn
	switch what {
	case "stop":
		err = s.Stop(within(t), stop)
	case "cancel":
		err = s.Cancel(within(t), "for good", "test")
		<-s.Done()
	default:
		if turn, err = h.Continue(within(t), s.ID(), engine.ReplyParams{Prompt: "go on"}); err == nil {
			h.mustWait(turn)
		}
	}
	m.crash()
	m.failing()
	h.mustClose()
	next := nextServer(t, h, m, scenario, nil)
	found := next.mustFind(s.ID())
	booksClosed(t, found, what == "cancel")
	i := found.Info()
	switch {
	case err != nil: // nothing was promised
	case what == "stop" && (i.State != engine.Cancelled || !i.Stopped):
		t.Errorf("a confirmed stop: %+v", i)
	case what == "cancel" && (i.State != engine.Cancelled || i.Stopped || i.CancelledReason != "for good"):
		t.Errorf("a confirmed cancel: %+v", i)
	case what == "continue" && i.Stopped:
		t.Errorf("a continue that was taken: %+v", i)
	}
	again, cerr := next.Continue(within(t), s.ID(), engine.ReplyParams{Prompt: "once more"})
	if what == "cancel" && err == nil {
		if engine.CodeOf(cerr) != engine.CancelledCode {
			t.Errorf("a cancelled session goes on: %v", cerr)
		}
		return
	}
	if what == "cancel" && engine.CodeOf(cerr) == engine.CancelledCode {
		return // it was noted, only not confirmed
	}
	if cerr != nil {
		t.Fatalf("it does not go on: %v\n%s", cerr, dump(found))
	}
	if r := next.mustWait(again); r.Result != "back" {
		t.Errorf("once more: %+v", r)
	}
	idsInOrder(t, again.Session())
}

// booksClosed: nothing is under way, each question has an answer, and the turn an end,
// unless the session has one instead.
func booksClosed(t *testing.T, s *engine.Session, cancelled bool) {
	t.Helper()
	idsInOrder(t, s)
	open, ends := map[string]bool{}, 0
	for _, e := range s.Events(nil, 0).Events {
		var is struct{ RequestID string }
		switch {
		case e.Type == event.PermissionAsked && json.Unmarshal(e.Data, &is) == nil:
			open[is.RequestID] = true
		case e.Type == event.PermissionResult && json.Unmarshal(e.Data, &is) == nil:
			delete(open, is.RequestID)
		case e.Type.Terminal():
			ends++
		}
	}
	if s.Info().State.Busy() || len(open) > 0 || ends == 0 && !cancelled {
		t.Errorf("state %s, open %v, %d ends:\n%s", s.Info().State, open, ends, dump(s))
	}
}
