package policy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// guard holds evaluations to a deadline and counts those that ignore it.
type guard struct {
	stuck atomic.Int64 // evaluations that ignored their deadline and still run

	once sync.Once
	jobs chan func() // to workers that have nothing to do
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

// idleWorker is how long a goroutine waits for the next evaluation. One that
// has run an evaluation has the stack for the next.
const idleWorker = time.Second

// start runs job beside the caller, on a waiting worker if there is one.
func (g *guard) start(job func()) {
	g.once.Do(func() { g.jobs = make(chan func()) })
	select {
	case g.jobs <- job:
	default:
		go g.work(job) // ends when nothing came for idleWorker
	}
}

func (g *guard) work(job func()) {
	deepen(0)
	idle := time.NewTimer(idleWorker)
	defer idle.Stop()
	for {
		job()
		idle.Reset(idleWorker)
		select {
		case job = <-g.jobs:
		case <-idle.C:
			return
		}
	}
}

// deepStack is what an evaluation's calls come to, in bytes.
const deepStack = 120 << 10

// deepen makes room for an evaluation at once: its stack would otherwise be
// copied, frame by frame, each time it doubles, which took a sixth of a decision.
//
//go:noinline
func deepen(at int) byte {
	var room [deepStack]byte
	room[at] = 1 // or the compiler would leave the room out
	return room[at+1]
}
