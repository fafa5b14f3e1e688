package engine

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// startClock ends a start that takes too long. It stands still while the start
// waits in line for its process. A nil clock never ends anything.
type startClock struct {
	timeout time.Duration
	timer   *time.Timer
}

func newStartClock(timeout, floor time.Duration, end context.CancelCauseFunc) *startClock {
	longer := max(timeout, floor)
	return &startClock{longer, time.AfterFunc(longer, func() { end(errInitTimeout(timeout, floor)) })}
}

// pause stops the clock.
func (c *startClock) pause() {
	if c != nil {
		c.timer.Stop()
	}
}

// begin lets it run anew.
func (c *startClock) begin() {
	if c != nil {
		c.timer.Reset(c.timeout)
	}
}

// spawnError explains a process that could not be started.
func spawnError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, cli.ErrLimit):
		return Errorf(Limit, "start CLI: %w", err)
	case ctx.Err() != nil:
		if why, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
			return why
		}
		return Errorf(CancelledCode, "start was cancelled: %w", context.Cause(ctx))
	}
	return Errorf(Internal, "start CLI: %w", err)
}
