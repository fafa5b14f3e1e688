package engine

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestReplyWithin: a reply that needs a new process says how long that may take to
// start.
func TestReplyWithin(t *testing.T) {
	l := newTurnsLab(t, `{"initialize_delay_ms": 300, "turns": [[{"text": "one"}, {"exit": {"code": 0}}]], "resume_turns": [[{"text": "two"}]]}`, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	turn, err := l.Begin(ctx, StartParams{Prompt: "go", SessionInitTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		within time.Duration
		code   Code
		says   string
	}{
		{time.Millisecond, Timeout, "did not start within 1ms"},
		{time.Minute, "", "two"},
	} {
		turn, err := turn.Session().Begin(ctx, ReplyParams{Prompt: "go on", SessionInitTimeout: row.within})
		if err != nil {
			t.Fatal(err)
		}
		r, err := turn.Wait(ctx)
		if err != nil || r.Code != row.code || !strings.Contains(r.Result, row.says) {
			t.Errorf("within %s: %q %q %v, want %q with %q", row.within, r.Code, r.Result, err, row.code, row.says)
		}
	}
}
