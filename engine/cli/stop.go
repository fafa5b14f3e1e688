package cli

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The stop ladder: each step waits this long for the process to end before the
// next. With the second the engine gives its interrupt request, a stop takes
// at most eight seconds, on a machine that is not overloaded.
const (
	afterStdin  = 2 * time.Second // the CLI writes its transcript at end of input
	afterSIGINT = 1500 * time.Millisecond
	afterTERM   = 1500 * time.Millisecond
	afterHaste  = time.Second // after SIGTERM, where somebody is in a hurry
)

// Stop ends the process and everything it started: close stdin, SIGINT, SIGTERM
// to its group, SIGKILL to the group and all descendants until none is left. It
// returns when that is done, or [ErrLeft] about two seconds after the last
// step. Further calls wait for the first and return the same.
func (p *Process) Stop() error {
	p.stopOnce.Do(func() { go p.end(p.climb) }) // ends with the ladder and the sweep
	<-p.stopped
	return p.left
}

// Hurry makes a Stop, whether under way or still to come, skip what is soft: SIGTERM
// to the group at once, and SIGKILL to what is left a second later. It returns at once.
func (p *Process) Hurry() {
	p.hurryOnce.Do(func() { close(p.hurry) })
}

// Hurried reports whether Hurry was called.
func (p *Process) Hurried() bool { return isClosed(p.hurry) }

// Kill is Stop without the ladder: the process does not get to do another thing.
func (p *Process) Kill() error {
	p.freeze()
	first := false
	p.stopOnce.Do(func() {
		first = true
		go p.end(nil) // ends with the sweep
	})
	if !first {
		p.killGroup() // a Stop is under way: it need not wait for the next step
	}
	<-p.stopped
	return p.left
}

// end runs the steps, nil: none, and then ends what is left.
func (p *Process) end(steps func()) {
	defer close(p.stopped)
	p.look() // before parents die and links are lost
	if steps != nil {
		steps()
	}
	if steps != nil && p.Exit() == "" {
		p.freeze()
		p.look()
	}
	p.killGroup()
	_, err := system.sweep(p.family)
	if !p.ended(sweepFor, nil) && err == nil {
		err = fmt.Errorf("%w: pid %d was killed and has not ended", ErrLeft, p.PID())
	}
	p.begun()
	p.leave()
	if strays := home.clear(system); strays != nil {
		err = errors.Join(err, strays)
	}
	p.stdout.Close()
	if p.close(); err != nil {
		p.left = fmt.Errorf("stop session %s: %w", p.entry.Session, err)
		return // the registry keeps it, for a later sweep
	}
	p.registry.remove(p.entry)
}

// look remembers who belongs to the session. An error is no reason to wait: the
// sweep tells if it persists.
func (p *Process) look() {
	ctx, cancel := context.WithTimeout(context.Background(), afterTERM)
	defer cancel()
	if t, err := system.table(ctx); err == nil {
		p.family.living(t)
	}
}

func (p *Process) climb() {
	ladder{
		hurry:     p.hurry,
		ended:     p.ended,
		stdin:     func() { go p.CloseStdin() }, // where writes have no deadline it waits for one under way
		interrupt: p.signalInterrupt,
		terminate: p.signalTerminate,
	}.climb()
}

// ladder is the soft steps of a stop.
type ladder struct {
	hurry                       <-chan struct{}                           // closed: straight to the last one
	ended                       func(time.Duration, <-chan struct{}) bool // within that time, or before the channel is closed
	stdin, interrupt, terminate func()
}

// climb takes one step after the other until the process has ended.
func (l ladder) climb() {
	for _, step := range []struct {
		do   func()
		wait time.Duration
	}{
		{l.stdin, afterStdin},
		{l.interrupt, afterSIGINT},
	} {
		if isClosed(l.hurry) {
			break
		}
		step.do()
		if l.ended(step.wait, l.hurry) {
			return
		}
	}
	wait := afterTERM
	if isClosed(l.hurry) {
		wait = afterHaste
	}
	l.terminate()
	l.ended(wait, nil)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ended waits that long, and no longer than until early is closed.
func (p *Process) ended(wait time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-early:
	}
	return false
}
