package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestStartClockStandsStillInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		c := newStartClock(10*time.Second, cancel)
		time.Sleep(9 * time.Second)
		c.pause()
		time.Sleep(time.Hour)
		c.begin()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("ended by the time in line: %v", context.Cause(ctx))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if CodeOf(context.Cause(ctx)) != Timeout {
			t.Errorf("cause %v, want a timeout", context.Cause(ctx))
		}
		var none *startClock
		none.pause()
		none.begin()
	})
}
