package engine

import (
	"context"
	"slices"
	"sync"
)

// slots bounds the turns that run at once, first come, first served.
type slots struct {
	mu    sync.Mutex
	free  int
	queue []chan struct{}
}

func newSlots(n int) *slots { return &slots{free: n} }

// try takes a slot if one is free and nobody waits.
func (s *slots) try() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 || len(s.queue) > 0 {
		return false
	}
	s.free--
	return true
}

// wait takes a slot, in order; ctx ends the wait with its error.
func (s *slots) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.try() {
		return nil
	}
	turn := make(chan struct{})
	s.mu.Lock()
	if s.free > 0 && len(s.queue) == 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	s.queue = append(s.queue, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		s.leave(turn)
		return context.Cause(ctx)
	}
}

func (s *slots) leave(turn chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, turn); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		return
	}
	s.next() // it was handed over at the same moment
}

// put gives a slot back.
func (s *slots) put() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
}

func (s *slots) next() {
	if len(s.queue) == 0 {
		s.free++
		return
	}
	close(s.queue[0])
	s.queue = s.queue[1:]
}
