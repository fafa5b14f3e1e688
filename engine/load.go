package engine

import (
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// ledger adds up what was spent since midnight UTC, by this server.
type ledger struct {
	mu      sync.Mutex
	day     string
	total   float64
	callers map[string]float64 // by identity
}

// maxCallers bounds the callers told apart in one day. Of those beyond it the
// whole server's sum is told, which is never too little.
const maxCallers = 1000

// add notes dollars a caller's session has spent.
func (l *ledger) add(now time.Time, caller string, usd float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	l.total += usd
	if _, known := l.callers[caller]; known || len(l.callers) < maxCallers {
		l.callers[caller] += usd
	}
}

// today is what all, and one caller, have spent today.
func (l *ledger) today(now time.Time, caller string) (total, callers float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	spent, known := l.callers[caller]
	if !known && len(l.callers) >= maxCallers {
		spent = l.total
	}
	return l.total, spent
}

// turn begins a new day.
func (l *ledger) turn(now time.Time) {
	if day := now.UTC().Format(time.DateOnly); day != l.day {
		l.day, l.total, l.callers = day, 0, make(map[string]float64)
	}
}

// load is what runs now and was spent today.
func (e *Engine) load(c permission.Caller) admission.Load {
	var l admission.Load
	who := identity(c)
	for _, s := range e.all() {
		if !s.standing().Busy() {
			continue
		}
		l.Sessions++
		if identity(s.caller) == who {
			l.CallerSessions++
		}
	}
	l.USDToday, l.CallerUSDToday = e.spent.today(time.Now(), who)
	return l
}
