//go:build unix

package script

import (
	"os"
	"os/signal"
	"syscall"
)

// Exit code of a process that SIGTERM ended, as a shell reports it.
const codeSIGTERM = 143

// watchSignals obeys SIGTERM and SIGINT until the returned function is called.
func watchSignals(p *process) func() {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() { // ends with done
		for {
			select {
			case s := <-c:
				p.signal(s)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
	}
}

func (p *process) signal(s os.Signal) {
	switch {
	case s == syscall.SIGTERM && !p.sc.IgnoreSIGTERM:
		p.kill(codeSIGTERM)
	case s == syscall.SIGINT && !p.sc.IgnoreSIGINT:
		p.mu.Lock()
		p.endAtIdle = true
		p.mu.Unlock()
		p.interrupt(func() {})
		p.poke()
	}
}
