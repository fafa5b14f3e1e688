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

// result is how a call ended.
type result int

const (
	succeeded result = iota
	failing
	neutral // it says nothing of the plugin
)

// enter says whether a call may be made; each that may has to leave.
func (h *health) enter(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures < UnhealthyAfter {
		return nil
	}
	if h.trying || now.Before(h.until) {
		return &hostFault{fmt.Errorf("not called, as the last %d calls failed; it is tried again every %v", h.failures, h.pause)}
	}
	h.trying = true
	return nil
}

// remains says whether a call that waited for its slot may still be made: those of
// a plugin that became unhealthy meanwhile must not hold up other plugins.
func (h *health) remains() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures < UnhealthyAfter || h.trying {
		return nil
	}
	return &hostFault{fmt.Errorf("not called, as the last %d calls failed; it is tried again every %v", h.failures, h.pause)}
}

// leave takes the result of a call. It gives the news of a change, or nothing.
func (h *health) leave(now time.Time, r result, err error) NewsKind {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.failures >= UnhealthyAfter
	tried := h.trying
	h.trying = false
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
	if !was || tried {
		h.pause = min(max(2*h.pause, firstPause), lastPause)
		h.until = now.Add(h.pause)
	}
	if was {
		return ""
	}
	return Unhealthy
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
