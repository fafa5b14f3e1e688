//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// pastFile is where a drainer reads what was covered before.
const pastFile = 3

// handOver leaves an output that something in the background still holds to a
// process of its own, so that the command's end is told now and what runs on is
// not ended by a broken pipe. It stays in the group and the session of the
// command and carries the session's mark. Where none can be started this one goes on.
func (f *filter) handOver(p *pump) {
	switch {
	case p.withheld:
		p.close()
	case f.startDrain(p) != nil:
		p.all()
	}
}

func (f *filter) startDrain(p *pump) error {
	t, ok := p.cover.(*text)
	if !ok {
		return os.ErrInvalid
	}
	r, w, err := pipe()
	if err != nil {
		return err
	}
	defer syscall.Close(r)
	_, err = syscall.Write(w, t.past()) // a new pipe holds more than that
	syscall.Close(w)
	if err != nil {
		return err
	}
	none, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer none.Close()
	path, err := ownProgram()
	if err != nil {
		return err
	}
	_, err = syscall.ForkExec(path, []string{Name, drainCommand, "output"}, &syscall.ProcAttr{
		Env: f.own, Files: []uintptr{uintptr(p.from), p.to.Fd(), none.Fd(), uintptr(r)},
	})
	return err
}

// drain carries standard input to standard output until its end.
func (f *filter) drain() int {
	signal.Ignore(forwarded...) // what prints may not heed them; its end ends this process
	past, err := io.ReadAll(io.LimitReader(os.NewFile(pastFile, "past"), replayed))
	if err != nil {
		return exitRefused
	}
	t := &text{plan: f.plan}
	t.goOn(past)
	p := &pump{to: os.Stdout, cover: t}
	p.all()
	return 0
}
