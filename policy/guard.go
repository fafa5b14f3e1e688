package policy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

// guard holds evaluations to a deadline and counts those that ignore it.
type guard struct {
	stuck atomic.Int64 // evaluations that ignored their deadline and still run

	once sync.Once
	pool workers.Pool
}

// watch runs work under the deadline. A built-in function can ignore the
// deadline, so a watchdog answers late in its place after a grace as well.
func watch[T any](ctx context.Context, g *guard, deadline, grace time.Duration, work func(context.Context) T) (result T, late bool) {
	end := time.Now().Add(deadline)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	done := make(chan T, 1)
	var left atomic.Bool // whoever comes second settles the count
	g.start(func() {     // nobody need receive
		done <- work(ctx)
		if left.Swap(true) {
			g.stuck.Add(-1)
		}
	})
	select {
	case result = <-done:
		return result, false
	case <-ctx.Done(): // only now is there need of a watchdog
	}
	watchdog := time.NewTimer(time.Until(end.Add(grace)))
	defer watchdog.Stop()
	select {
	case result = <-done:
		return result, false
	case <-watchdog.C:
	}
	g.stuck.Add(1)
	if left.Swap(true) {
		g.stuck.Add(-1)
		return <-done, false
	}
	return result, true
}

// deepStack is what an evaluation's calls come to, in bytes: room for it is made at
// once, since copying it each time it doubled took a sixth of a decision.
const deepStack = 120 << 10

// start runs job beside the caller, on a worker that keeps the stack.
func (g *guard) start(job func()) {
	g.once.Do(func() { g.pool.Stack = deepStack })
	g.pool.Start(job)
}
