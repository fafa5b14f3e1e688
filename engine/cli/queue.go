package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Bounds of starts.
const (
	startsPerCore = 2
	maxWaiting    = 1024            // starts in line
	startHold     = 5 * time.Second // a CLI that is silent for so long no longer counts as starting
)

// ErrLimit is returned by StartContext where a bound is reached: of the line of
// starts, of open files or of processes. Later it may work.
var ErrLimit = errors.New("limit reached")

// starts bounds the processes of this program that are starting up: a spawn is
// cheap, the seconds until a CLI first speaks are not.
var starts = newQueue(startsPerCore*runtime.GOMAXPROCS(0), maxWaiting)

// queue is a semaphore, first come, first served.
type queue struct {
	most int // waiting

	mu      sync.Mutex
	free    int
	waiting []chan struct{} // closed when the place is had
}

func newQueue(places, most int) *queue { return &queue{free: places, most: most} }

// enter waits for a place. leave gives it back; more than once is fine.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	turn, err := q.join()
	if err != nil {
		return nil, err
	}
	select {
	case <-turn:
		return sync.OnceFunc(q.put), nil
	case <-ctx.Done():
		q.quit(turn)
		return nil, context.Cause(ctx)
	}
}

// join takes a place, or one in line for it.
func (q *queue) join() (turn chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn = make(chan struct{})
	switch {
	case q.free > 0: // then nobody waits
		q.free--
		close(turn)
	case len(q.waiting) >= q.most:
		return nil, fmt.Errorf("%w: %d starts wait already; start fewer at once", ErrLimit, q.most)
	default:
		q.waiting = append(q.waiting, turn)
	}
	return turn, nil
}

func (q *queue) quit(turn chan struct{}) {
	q.mu.Lock()
	i := slices.Index(q.waiting, turn)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.put() // it was had at the same moment
	}
}

func (q *queue) put() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}

// noFiles reports whether the system or this program has no files left to open.
func noFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// explained says what a user can do about a start that met a limit.
func explained(err error) error {
	switch {
	case noFiles(err):
		return fmt.Errorf("%w: all %s open files are in use, of which a session takes %d; end sessions, or raise the limit (ulimit -n): %w", ErrLimit, fileLimit(), filesPerProcess, err)
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("%w: the system starts no more processes; end sessions, or raise the limit (ulimit -u, memory, the container's pids): %w", ErrLimit, err)
	}
	return err
}
