package permission

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asleep is a clock whose wall time can be put forward, as a machine's is when it
// wakes up: the monotonic reading stands still.
type asleep struct{ slept atomic.Int64 }

func (c *asleep) now() time.Time {
	if d := time.Duration(c.slept.Load()); d > 0 {
		return time.Now().Round(0).Add(d)
	}
	return time.Now()
}

func TestQuestionEndsByEitherClock(t *testing.T) {
	cases := []struct {
		name    string
		timeout time.Duration
		sleep   time.Duration // of the machine, a second after the question
		ends    time.Duration // by the monotonic clock
	}{
		{"awake", time.Minute, 0, time.Minute},
		{"slept over it", time.Hour, 2 * time.Hour, wallEvery},
		{"slept for a while", time.Minute, 30 * time.Second, 30 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &asleep{}
				a := NewApprovals(0)
				a.now = clock.now
				q, err := a.Open(Request{}, Decision{}, c.timeout)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				time.AfterFunc(time.Second, func() {
					clock.slept.Store(int64(c.sleep))
					if c.sleep < c.timeout {
						return
					}
					if _, err := a.Answer(q.ID, Verdict{Allow: true}, nil); err != ErrNotFound {
						t.Errorf("answer after the machine slept: %v", err)
					}
				})
				v := a.Wait(context.Background(), q)
				if v.Allow || v.Source != "timeout" {
					t.Errorf("verdict %+v", v)
				}
				if got := time.Since(began); got != c.ends {
					t.Errorf("ended after %s, want %s", got, c.ends)
				}
			})
		})
	}
}

func TestDeadlineOfAClockThatWentBack(t *testing.T) {
	now := time.Now()
	deadline := now.Add(time.Minute)
	if later := now.Add(2 * time.Minute); !Passed(later, deadline) || Left(later, deadline) != 0 {
		t.Error("a deadline that is over is not passed")
	}
	if Passed(now, deadline) || Left(now, deadline) != time.Minute {
		t.Error("a deadline to come is passed")
	}
}
