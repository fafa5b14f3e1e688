package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStartClockStandsStillInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		c := newStartClock(10*time.Second, 0, cancel)
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

// The longer of the two holds, and is named.
func TestStartClockNamesWhatHolds(t *testing.T) {
	for want, floor := range map[string]time.Duration{
		"within 10s (sessionInitTimeoutMs)":             time.Second,
		"within 20s (CLAUDE_CODE_STREAM_CLOSE_TIMEOUT)": 20 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			newStartClock(10*time.Second, floor, cancel)
			time.Sleep(max(10*time.Second, floor) - 1)
			synctest.Wait()
			if ctx.Err() != nil {
				t.Fatal("ended early")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if cause := context.Cause(ctx); cause == nil || !strings.Contains(cause.Error(), want) {
				t.Errorf("cause %v, want %q", cause, want)
			}
		})
	}
}
