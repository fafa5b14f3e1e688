// Package workers runs jobs on goroutines that keep their stacks. A fresh goroutine
// copies its stack each time it outgrows it, which for a job of some microseconds is
// a good part of the time.
package workers

import (
	"sync"
	"time"
)

// Idle is how long a worker waits for its next job before it ends.
const Idle = time.Second

// Pool starts jobs. The zero value works; it must not be copied. Nothing bounds the
// jobs at once: that is their owner's.
type Pool struct {
	Stack int // bytes a worker makes room for at once; 0 = none

	once  sync.Once
	jobs  chan func()   // to workers that wait
	quit  chan struct{} // closed by Close
	close sync.Once
}

func (p *Pool) begin() {
	p.once.Do(func() { p.jobs, p.quit = make(chan func()), make(chan struct{}) })
}

// Start runs job beside the caller, on a waiting worker if there is one. A job may
// end its goroutine; one that panics ends the process, as in any goroutine.
func (p *Pool) Start(job func()) {
	p.begin()
	select {
	case p.jobs <- job:
	default:
		go p.work(job) // ends when nothing came for Idle, or with Close
	}
}

// Close ends workers that wait, and others when their job is done. Jobs can be
// started all the same.
func (p *Pool) Close() {
	p.begin()
	p.close.Do(func() { close(p.quit) })
}

func (p *Pool) work(job func()) {
	grow(p.Stack)
	timer := time.NewTimer(Idle)
	defer timer.Stop()
	for {
		job()
		timer.Reset(Idle)
		select {
		case job = <-p.jobs:
		case <-timer.C:
			return
		case <-p.quit:
			return
		}
	}
}

// frame is what one call of grow takes of the stack, roughly.
const frame = 4 << 10

//go:noinline
func grow(left int) byte {
	if left <= 0 {
		return 0
	}
	var room [frame]byte
	room[left%frame] = 1 // or the compiler would leave the room out
	return grow(left-frame) + room[(left+1)%frame]
}
