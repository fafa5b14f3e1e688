package policy

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// turns bounds the evaluations that run at once, first come, first served. A
// thousand of them would share the processors until each missed its deadline;
// so the deadline begins with the turn.
type turns chan struct{}

const (
	// turnsPerCore leaves a core something to do while one evaluation is slow.
	turnsPerCore = 2
	// maxTurnWait is how long an evaluation waits for its turn at most: that many
	// are waiting that the answer would come too late for anybody.
	maxTurnWait = 10 * time.Second
)

func newTurns() turns { return make(turns, turnsPerCore*runtime.GOMAXPROCS(0)) }

// take waits for a turn; the error says why there was none.
func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(maxTurnWait)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("%d evaluations run and more wait, none ended within %s", cap(t), maxTurnWait)
	}
}

func (t turns) give() { <-t }
