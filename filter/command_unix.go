//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// command runs a command line and ends as it ended.
func (f *filter) command(line string) int {
	pumps, files, err := f.open()
	if err != nil {
		return refused(err)
	}
	path, argv := f.shell(line)
	child, err := start(path, argv, &syscall.ProcAttr{Env: f.environ, Files: []uintptr{0, uintptr(files[0]), uintptr(files[1])}})
	if err != nil {
		return refused(fmt.Errorf("start %s: %w", path, err))
	}
	forward(child.pid) // while the command starts
	syscall.Close(files[0])
	if files[1] != files[0] {
		syscall.Close(files[1])
	}
	for _, p := range pumps {
		p.failed = func(err error) { f.stop(child.pid, err) }
		go p.cover.ready() // ends by itself; a command that prints nothing does not wait for it
	}
	status := child.carry(pumps)
	if f.stopped {
		return 1
	}
	for _, p := range pumps {
		if !p.ended && !f.isMCP {
			f.handOver(p)
		}
	}
	return exit(status)
}

func refused(err error) int {
	fmt.Fprintf(os.Stderr, "%s: the command was not run: %v\n", Name, err)
	if errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitRefused
}

// open makes one pipe for each output; one for both where they are one file, as
// the order of what is written would be lost otherwise. files are the command's.
func (f *filter) open() (pumps []*pump, files [2]int, err error) {
	for i, to := range []*os.File{os.Stdout, os.Stderr} {
		if i == 1 && !f.isMCP && same(os.Stdout, os.Stderr) {
			files[1] = files[0]
			break
		}
		var c coverer = &text{plan: f.plan}
		if f.isMCP && i == 0 {
			if c, err = f.newMessages(); err != nil {
				return nil, files, err
			}
		}
		r, w, err := pipe()
		if err != nil {
			return nil, files, err
		}
		pumps, files[i] = append(pumps, &pump{from: r, to: to, cover: c}), w
	}
	return pumps, files, nil
}

func same(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// forwarded are signals that whoever ends a command may send to this process
// alone.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// forward passes signals on to the command; those that it is meant to ignore
// stay ignored. A reader that went away ends the command, not this process.
func forward(pid int) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGPIPE)
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() { // lives as long as the filter
		for s := range signals {
			if s != syscall.SIGPIPE {
				syscall.Kill(pid, s.(syscall.Signal))
			}
		}
	}()
}

// stop ends a server whose output cannot be passed on; a command only loses its
// reader.
func (f *filter) stop(pid int, err error) {
	if f.isMCP {
		f.stopped = true
		fmt.Fprintf(os.Stderr, "%s: the MCP server %q was ended: %v\n", Name, f.server, err)
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// exit ends as the command did: by the same signal where that leaves no trace of
// this process, else with the code a shell gives.
func exit(status syscall.WaitStatus) int {
	if !status.Signaled() {
		return status.ExitStatus()
	}
	switch s := status.Signal(); s {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL:
		signal.Reset(s)
		syscall.Kill(os.Getpid(), s)
		time.Sleep(time.Second) // the signal ends this process meanwhile
	}
	return exitSignal + int(status.Signal())
}
