package plugins

import (
	"context"
	"sync"
)

// Spare instances.
const (
	// Spares is how many instances of a plugin wait for calls.
	Spares = 2
	// MaxIdleMemory is how many bytes the instances that wait have together, of all
	// plugins: linear memory, tables and segments. One that would go beyond it does not wait.
	MaxIdleMemory = 256 << 20
)

// pool holds a plugin's instances that wait for a call. One that was used never
// comes back, except with Reuse. A goroutine makes new ones in place of those that
// were taken; close ends it.
type pool struct {
	plugin *plugin
	want   chan struct{} // holds one: there is room
	ended  chan struct{} // closed by the goroutine

	mu     sync.Mutex
	idle   []*instance
	closed bool
	stop   context.CancelFunc
}

func newPool(p *plugin) *pool {
	ctx, stop := context.WithCancel(context.Background())
	s := &pool{plugin: p, want: make(chan struct{}, 1), ended: make(chan struct{}), stop: stop}
	go s.refill(ctx) // until close
	return s
}

// take gives an instance that waits, or nil.
func (s *pool) take() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		s.ask()
		return nil
	}
	i := s.idle[n-1]
	s.idle[n-1] = nil
	s.idle = s.idle[:n-1]
	s.plugin.host.idle.Add(-i.all())
	s.ask()
	return i
}

// ask has the goroutine make instances. Those that are used again come back.
func (s *pool) ask() {
	if s.plugin.config.Reuse {
		return
	}
	select {
	case s.want <- struct{}{}:
	default:
	}
}

// done takes an instance back after a call: again says that it may be used again.
func (s *pool) done(i *instance, again bool) {
	if !again || !s.put(i) {
		i.close()
	}
}

// put lets an instance wait, unless there is no room.
func (s *pool) put(i *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := i.all()
	if s.closed || len(s.idle) >= Spares {
		return false
	}
	if idle := &s.plugin.host.idle; idle.Add(size) > MaxIdleMemory {
		idle.Add(-size)
		return false
	}
	s.idle = append(s.idle, i)
	return true
}

func (s *pool) room() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fits := s.plugin.host.idle.Load()+s.plugin.code.least <= MaxIdleMemory
	return !s.closed && len(s.idle) < Spares && fits
}

// refill makes instances as long as there is room and they can be made. One that
// cannot be made is not tried again until the next call.
func (s *pool) refill(ctx context.Context) {
	defer close(s.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.want:
		}
		for s.room() && s.refillOne(ctx) {
		}
	}
}

func (s *pool) refillOne(ctx context.Context) bool {
	h := s.plugin.host
	select {
	case h.warming <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-h.warming }()
	limit := s.plugin.config.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timedOut(limit))
	defer cancel()
	i, err := s.plugin.make(ctx)
	if err != nil {
		return false // a call that finds no spare one makes its own, and tells why it cannot
	}
	if !s.put(i) {
		i.close()
		return false
	}
	return true
}

// close closes the instances that wait and ends the goroutine.
func (s *pool) close() {
	s.mu.Lock()
	s.closed = true
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	s.stop()
	<-s.ended
	for _, i := range idle {
		s.plugin.host.idle.Add(-i.all())
		i.close()
	}
}
