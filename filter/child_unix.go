//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import "syscall"

// child is the command.
type child struct {
	pid    int
	handle int                     // becomes readable when it has ended
	status chan syscall.WaitStatus // nil: nobody else waits for it
}

// start starts a program in the group of this process.
func start(path string, argv []string, attr *syscall.ProcAttr) (c child, err error) {
	c.handle = -1
	attr.Sys = attributes(&c.handle)
	if c.pid, err = syscall.ForkExec(path, argv, attr); err != nil || c.handle >= 0 {
		return c, err
	}
	r, w, err := pipe()
	if err != nil {
		syscall.Kill(c.pid, syscall.SIGKILL)
		return c, err
	}
	c.handle, c.status = r, make(chan syscall.WaitStatus, 1)
	go func() { // ends with the command
		c.status <- child{pid: c.pid}.wait()
		syscall.Close(w)
	}()
	return c, nil
}

// carry moves what the command prints until it has ended and everything is
// written that it had printed by then. It works on one thread: handing the work
// from one to another would cost a short command more than all else.
func (c child) carry(pumps []*pump) syscall.WaitStatus {
	for fds := open(pumps); len(fds) > 0; fds = open(pumps) {
		if await(append(fds, c.handle)) {
			break
		}
		for _, p := range pumps {
			if !p.ended {
				p.step()
			}
		}
	}
	status := c.wait()
	for _, p := range pumps {
		p.rest()
	}
	return status
}

// open are the descriptors something may still come from.
func open(pumps []*pump) (fds []int) {
	fds = make([]int, 0, len(pumps)+1)
	for _, p := range pumps {
		if !p.ended {
			fds = append(fds, p.from)
		}
	}
	return fds
}

func (c child) wait() (status syscall.WaitStatus) {
	if c.status != nil {
		return <-c.status
	}
	for {
		if _, err := syscall.Wait4(c.pid, &status, 0, nil); err != syscall.EINTR {
			return status
		}
	}
}
