package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Starts are let in first come, first served, whoever gives up in between.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, 10)
		var mu sync.Mutex
		var order []int
		inOrder := func() []int {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(order)
		}
		giveUp := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		for i := range 6 {
			go func() { // ends when it had its turn
				waiting := t.Context()
				if i == 3 {
					waiting = ctx
				}
				leave, err := q.enter(waiting)
				if i == 3 {
					if !errors.Is(err, giveUp) {
						t.Errorf("the one that gave up: %v", err)
					}
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Duration(i+1) * time.Second)
				leave()
				leave() // twice counts once
			}()
			synctest.Wait()
		}
		cancel(giveUp)
		synctest.Wait()
		if got := inOrder(); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("let in at once: %v", got)
		}
		time.Sleep(time.Minute)
		if got := inOrder(); !slices.Equal(got, []int{0, 1, 2, 4, 5}) || places(q) != 2 {
			t.Errorf("order %v, %d places free", got, places(q))
		}
	})
}

func places(q *queue) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 2)
		leave, err := q.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			go func() { // ends when it was let in
				if leave, err := q.enter(t.Context()); err == nil {
					leave()
				}
			}()
		}
		synctest.Wait()
		if _, err := q.enter(t.Context()); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "2 starts wait") {
			t.Errorf("one too many: %v", err)
		}
		leave()
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := q.enter(ended); !errors.Is(err, context.Canceled) || places(q) != 1 {
			t.Errorf("entered with a context that had ended: %v, %d free", err, places(q))
		}
	})
}

func TestExplained(t *testing.T) {
	for _, tt := range []struct {
		err   error
		limit bool
		says  string
	}{
		{fmt.Errorf("pipe: %w", syscall.EMFILE), true, "ulimit -n"},
		{fmt.Errorf("fork: %w", syscall.EAGAIN), true, "ulimit -u"},
		{syscall.ENOENT, false, syscall.ENOENT.Error()},
	} {
		err := explained(tt.err)
		if errors.Is(err, ErrLimit) != tt.limit || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v became %v", tt.err, err)
		}
	}
}

func TestBudget(t *testing.T) {
	for files, want := range map[uint64]int{0: 1, 64: 1, 256: 24, 1024: 120, 20000: 2492, 1 << 20: mostProcesses, 1<<64 - 1: mostProcesses} {
		if got := budget(files); got != want {
			t.Errorf("budget of %d files is %d, want %d", files, got, want)
		}
	}
}
