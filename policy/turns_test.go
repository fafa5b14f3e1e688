package policy

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"

	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

// The deadline is that of an evaluation, not of the queue before it.
func TestDeadlineBeginsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Set{options: Options{Deadline: 100 * time.Millisecond}, turns: make(turns, 2)}
		slow := func(context.Context) permission.Decision {
			time.Sleep(60 * time.Millisecond)
			return permission.Decision{Effect: permission.Allow}
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if d := s.guarded(context.Background(), slow); d.Effect != permission.Allow {
					t.Errorf("got %s by %s", d.Effect, d.Rule)
				}
			})
		}
		all.Wait()
		time.Sleep(2 * workers.Idle) // the workers end
	})
}

func TestNoTurnDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Set{options: Options{Deadline: time.Second}, turns: make(turns, 1)}
		if err := s.turns.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		allow := func(context.Context) permission.Decision { return permission.Decision{Effect: permission.Allow} }
		if d := s.guarded(context.Background(), allow); d.Effect != permission.Deny || d.Rule != "engine.busy" || !strings.Contains(d.Reason, "10s") {
			t.Errorf("a turn that never came: %s by %s: %s", d.Effect, d.Rule, d.Reason)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if d := s.guarded(ctx, allow); d.Effect != permission.Deny || d.Rule != "engine.cancelled" {
			t.Errorf("given up while it waited: %s by %s", d.Effect, d.Rule)
		}
		if err := s.turns.take(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("take: %v", err)
		}
		s.turns.give()
		if d := s.guarded(context.Background(), allow); d.Effect != permission.Allow {
			t.Errorf("after the turn was given back: %s by %s", d.Effect, d.Rule)
		}
		time.Sleep(2 * workers.Idle)
	})
}
