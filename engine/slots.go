package engine

import (
	"context"
	"slices"
	"sync"
)

// slots bounds what runs at once. Who wants one takes a ticket as soon as it is
// known that one may be wanted, and says later that it is ready to go: a slot that
// is free goes to the oldest ticket that is ready. So nobody who is ready is
// overtaken by one who came later, and no slot stays empty for one that still waits
// for a decision, or is refused.
type slots struct {
	mu   sync.Mutex
	free int
	line []*ticket // neither holding nor gone, in the order they came
}

func newSlots(n int) *slots { return &slots{free: n} }

// ticket is one place in the line, then the slot itself. It is given back once,
// whoever does so, and however often; a nil ticket has no slot and needs none.
type ticket struct {
	slots   *slots
	granted chan struct{} // closed when it holds a slot
	stage   stage         // guarded by slots.mu
}

type stage uint8

const (
	inLine  stage = iota // not ready yet
	waiting              // ready, and no slot is free
	holding
	gone
)

// take takes the next place in the line.
func (s *slots) take() *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &ticket{slots: s, granted: make(chan struct{})}
	s.line = append(s.line, t)
	return t
}

// grant gives free slots to those who are ready.
func (s *slots) grant() {
	for s.free > 0 {
		i := slices.IndexFunc(s.line, func(t *ticket) bool { return t.stage == waiting })
		if i < 0 {
			return
		}
		t := s.line[i]
		s.line = slices.Delete(s.line, i, i+1)
		s.free--
		t.stage = holding
		close(t.granted)
	}
}

// ready says that the slot could be used now, and whether it is there already.
func (t *ticket) ready() bool {
	if t == nil {
		return true
	}
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	if t.stage == inLine {
		t.stage = waiting
		t.slots.grant()
	}
	return t.stage == holding
}

// wait is ready, and waits for the slot; the end of ctx gives the place up, and its
// cause is the error.
func (t *ticket) wait(ctx context.Context) error {
	if ctx.Err() == nil && t.ready() {
		return nil
	}
	if t != nil {
		select {
		case <-t.granted:
			if ctx.Err() == nil {
				return nil
			}
		case <-ctx.Done():
		}
	}
	t.leave()
	return context.Cause(ctx)
}

// leave gives back the place, or the slot.
func (t *ticket) leave() {
	if t == nil {
		return
	}
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t.stage {
	case inLine, waiting:
		s.line = slices.DeleteFunc(s.line, func(other *ticket) bool { return other == t })
	case holding:
		s.free++
	}
	t.stage = gone
	s.grant()
}

// waits says whether it is ready and has no slot.
func (t *ticket) waits() bool {
	if t == nil {
		return false
	}
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	return t.stage == waiting
}
