package policy

import (
	"context"
	"sync/atomic"
	"time"
)

// guard holds evaluations to a deadline and counts those that ignore it.
type guard struct {
	stuck atomic.Int64 // evaluations that ignored their deadline and still run
}

// watch runs work under the deadline. A built-in function can ignore the
// deadline, so a watchdog answers late in its place after a grace as well.
func watch[T any](ctx context.Context, g *guard, deadline, grace time.Duration, work func(context.Context) T) (result T, late bool) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	done := make(chan T, 1)
	var left atomic.Bool // whoever comes second settles the count
	go func() {          // ends when work returns; nobody need receive
		done <- work(ctx)
		if left.Swap(true) {
			g.stuck.Add(-1)
		}
	}()
	watchdog := time.NewTimer(deadline + grace)
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
