package cli

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// setParentDeath makes the kernel end the CLI when the server dies.
func setParentDeath(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

var spawner = sync.OnceValue(func() chan func() {
	work := make(chan func())
	go func() { // lives as long as the server: the parent-death signal belongs to this thread
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// spawn runs f, which starts a process, on the one locked thread.
func spawn(f func()) {
	done := make(chan struct{})
	spawner() <- func() {
		defer close(done)
		f()
	}
	<-done
}

// tree is a second handle on the process, for awaitEnd.
type tree struct{ handle *os.File }

// adopt takes the handle, where the kernel has them.
func (p *Process) adopt() error {
	var fd int
	err := p.cmd.Process.WithHandle(func(h uintptr) {
		copied, _, errno := syscall.Syscall(syscall.SYS_FCNTL, h, syscall.F_DUPFD_CLOEXEC, 0)
		if fd = int(copied); errno != 0 {
			fd = -int(errno)
		}
	})
	switch {
	case errors.Is(err, os.ErrNoHandle):
		return nil
	case err != nil:
		return err
	case fd < 0:
		return syscall.Errno(-fd)
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // for the runtime's poller
		syscall.Close(fd)
		return err
	}
	p.tree.handle = os.NewFile(uintptr(fd), "process")
	return nil
}

// idPidFD is waitid(2)'s P_PIDFD.
const idPidFD = 3

// awaitEnd waits for the end of the process and leaves its status, without a
// thread of its own for each process that waits. It returns false where it cannot.
func (p *Process) awaitEnd() bool {
	if p.tree.handle == nil {
		return false
	}
	defer p.tree.handle.Close()
	conn, err := p.tree.handle.SyscallConn()
	if err != nil {
		return false
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		var ended bool
		ended, failed = hasEnded(fd)
		return ended || failed != nil
	})
	if err = errors.Join(err, failed); err != nil { // the handle is shared with os.Process, whose wait must block
		conn.Control(func(fd uintptr) { syscall.SetNonblock(int(fd), false) })
	}
	return err == nil
}

func hasEnded(fd uintptr) (bool, error) {
	var info [128]byte // siginfo_t, which begins with the signal
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPidFD, fd, uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT, 0, 0)
		switch errno {
		case 0:
			return info[0] != 0 || info[1] != 0 || info[2] != 0 || info[3] != 0, nil
		case syscall.EINTR:
		default:
			return false, errno
		}
	}
}

func (p *Process) close() {}
