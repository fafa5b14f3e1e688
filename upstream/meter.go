package upstream

import (
	"sync"
	"time"
)

// meter lets so much through in each window of time.
type meter struct {
	window time.Duration
	most   int

	mu      sync.Mutex
	began   time.Time
	used    int
	refused int // since the last that was let through
}

// take asks for an amount; missed is how often it was refused since it last was not.
func (m *meter) take(amount int) (missed int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.began.IsZero() || now.Sub(m.began) >= m.window {
		m.began, m.used = now, 0
	}
	if m.used > 0 && m.used+amount > m.most {
		m.refused++
		return 0, false
	}
	m.used += amount
	missed, m.refused = m.refused, 0
	return missed, true
}
