package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
)

// brandMark is the mark of what bears a run's brand, see package lineage.
func brandMark(brand uint64) string { return fmt.Sprintf("brand=%d", brand) }

// UnderGuard tells of the process that runs this one and adopts what loses its
// parents. From then on, whenever no process that [Start] started is left, all that
// stands below the guard beside this one is ended: it was of a session, and nobody
// can tell any more of which. Not so below a guard that has other children when this
// is called, or is the system's first process, to which anybody's fall. Call it
// before the first start.
func UnderGuard(guard int) error { return home.setUp(guard) }

// home is that of this program.
var home household

// household is the processes of a program and what fell to its guard.
type household struct {
	mu    sync.Mutex
	guard member // zero: none
	live  int
	begun int // starts so far
}

func (h *household) setUp(guard int) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepFor)
	defer cancel()
	t, err := system.table(ctx)
	if err != nil {
		return fmt.Errorf("look at the guard %d: %w", guard, err)
	}
	g := t.byPID[guard]
	if g == nil || t.own == nil || t.own.parent != guard {
		return fmt.Errorf("process %d is not this one's guard", guard)
	}
	if guard == 1 || len(t.children[guard]) > 1 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.guard = g.member
	return nil
}

// enter counts a process from before its start; leave, which may be called more
// than once, from when nothing of it is left.
func (h *household) enter() (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live++
	h.begun++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.live--
	})
}

// idle returns the guard, and how many were started so far; false while one lives
// or where there is no guard.
func (h *household) idle() (guard member, begun int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.guard, h.begun, h.live == 0 && h.guard.pid != 0
}

var errOccupied = errors.New("another process was started")

// clear ends what nobody can tell whose it was, if it can be nobody's who lives.
func (h *household) clear(s sweeper) error {
	guard, begun, ok := h.idle()
	if !ok || os.Getppid() != guard.pid {
		return nil
	}
	look := s.table
	s.table = func(ctx context.Context) (*table, error) {
		t, err := look(ctx)
		if _, now, ok := h.idle(); !ok || now != begun {
			return nil, errOccupied // what the look showed may be of that one
		}
		return t, err
	}
	_, err := s.sweep(&family{root: guard, heirs: true})
	if errors.Is(err, errOccupied) {
		return nil
	}
	return err
}

// mark brands the process; where the system refuses it is found by the rest.
func (p *Process) mark() { _ = lineage.SetBrand(p.PID(), p.entry.Run) }
