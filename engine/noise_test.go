package engine_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// TestGarbageLines: however many lines are no messages, two notices tell of them.
func TestGarbageLines(t *testing.T) {
	h := newHarness(t, `{"turns":[[`+strings.Repeat(`{"raw":"this is no JSON"},`, 300)+`{"text":"one"}],[{"raw":"nor this"},{"text":"two"}]]}`, nil)
	s := h.mustStart()
	if i := h.settled(s); i.Result.Result != "one" {
		t.Errorf("result %+v", i.Result)
	}
	if count(s, event.Notice, `"protocol_error"`) != 2 || count(s, event.Notice, `"skipped":299`) != 1 {
		t.Errorf("events:\n%s", dump(s))
	}
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if count(s, event.Notice, `"protocol_error"`) != 3 {
		t.Errorf("of the next turn's line nothing is told:\n%s", dump(s))
	}
}
