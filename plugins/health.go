package plugins

import (
	"fmt"
	"sync"
	"time"
)

// How long an unhealthy plugin is not called: the pause doubles with each attempt
// that fails.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// health is how a plugin's last calls went. After UnhealthyAfter failures in a row
// it is not called for a while; then one call tries, and others still are not made
// until that one came back.
type health struct {
	mu       sync.Mutex
	failures int // in a row
	last     error
	pause    time.Duration
	until    time.Time
	trying   bool
}

// turn is what a call is to the health.
type turn int

const (
	turnNone     turn = iota // nothing
	turnOrdinary             // one of many
	turnTry                  // the one that tries whether the plugin works again
)

// result is how a call ended.
type result int

const (
	succeeded result = iota
	failing
	neutral // it says nothing of the plugin
)

// enter says whether a call may be made; each that may has to leave.
func (h *health) enter(now time.Time) (turn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures < UnhealthyAfter {
		return turnOrdinary, nil
	}
	if h.trying || now.Before(h.until) {
		return turnNone, h.paused()
	}
	h.trying = true
	return turnTry, nil
}

func (h *health) paused() error {
	return &hostFault{fmt.Errorf("not called, as the last %d calls failed; it is tried again every %v", h.failures, h.pause)}
}

// remains says whether a call that waited for its slot may still be made: those of
// a plugin that became unhealthy meanwhile must not hold up other plugins.
func (h *health) remains(t turn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures < UnhealthyAfter || t != turnOrdinary {
		return nil
	}
	return h.paused()
}

// leave takes the result of a call. It gives the news of a change, or nothing.
func (h *health) leave(now time.Time, t turn, r result, err error) NewsKind {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.failures >= UnhealthyAfter
	if t == turnTry {
		h.trying = false
	}
	switch {
	case r == neutral:
		return ""
	case r == succeeded:
		h.failures, h.last, h.pause = 0, nil, 0
		if was {
			return Healthy
		}
		return ""
	}
	h.failures, h.last = h.failures+1, err
	if h.failures < UnhealthyAfter {
		return ""
	}
	if !was || t == turnTry { // others began before it was paused
		h.pause = min(max(2*h.pause, firstPause), lastPause)
		h.until = now.Add(h.pause)
	}
	if was {
		return ""
	}
	return Unhealthy
}

// forget makes a plugin healthy, whatever became of its last calls.
func (h *health) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.last, h.pause, h.trying = 0, nil, 0, false
}

// state is whether a plugin is healthy, and if not, its last failure.
func (h *health) state() (healthy bool, last string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures < UnhealthyAfter {
		return true, ""
	}
	return false, h.last.Error()
}
