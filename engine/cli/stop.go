package cli

import (
	"time"
)

// The stop ladder: each step waits this long for the process to end before the
// next. With the second the engine gives its interrupt request, a stop takes
// at most eight seconds.
const (
	afterStdin  = 2 * time.Second // the CLI writes its transcript at end of input
	afterSIGINT = 1500 * time.Millisecond
	afterTERM   = 1500 * time.Millisecond
	sweepFor    = 2 * time.Second
	sweepPause  = 20 * time.Millisecond
)

// Stop ends the process and everything it started: close stdin, SIGINT, SIGTERM
// to its group, SIGKILL to the group and all descendants until none is left. It
// returns when that is done; further calls wait for the first.
func (p *Process) Stop() {
	p.stopOnce.Do(func() {
		defer close(p.stopped)
		p.ladder()
	})
	<-p.stopped
}

// Kill is Stop without the ladder: the process does not get to do another thing.
func (p *Process) Kill() {
	p.killGroup() // also when a Stop is under way
	p.stopOnce.Do(func() {
		defer close(p.stopped)
		p.sweep(descendants(p.PID(), p.marker))
		<-p.done
		p.stdout.Close()
	})
	<-p.stopped
}

func (p *Process) ladder() {
	tree := descendants(p.PID(), p.marker) // before parents die and links are lost
	p.CloseStdin()
	for _, step := range []struct {
		wait time.Duration
		next func()
	}{
		{afterStdin, p.signalInterrupt},
		{afterSIGINT, p.signalTerminate},
		{afterTERM, func() {}},
	} {
		if p.ended(step.wait) {
			break
		}
		step.next()
	}
	p.sweep(tree)
	<-p.done
	p.stdout.Close()
}

func (p *Process) ended(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// sweep kills until nothing that belongs to the session is left, for at most sweepFor.
func (p *Process) sweep(tree []member) {
	deadline := time.Now().Add(sweepFor)
	for {
		p.killGroup()
		left := kill(append(tree, descendants(p.PID(), p.marker)...))
		if left == 0 || time.Now().After(deadline) {
			return
		}
		time.Sleep(sweepPause)
	}
}
