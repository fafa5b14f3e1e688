package filter

import (
	"syscall"
	"unsafe"
)

const (
	// pipeSize is what a pipe holds, in bytes; more saves switches between processes.
	pipeSize = 1 << 20

	setPipeSize = 1031 // F_SETPIPE_SZ
)

// ownProgram is this program, also when its file was replaced.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// attributes make the kernel end the command when this process is ended in a way
// it cannot forward, as if the signal had hit the command.
func attributes(handle *int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, PidFD: handle}
}

// pipe returns a pipe that is not inherited; reading it does not wait.
func pipe() (r, w int, err error) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	syscall.Syscall(syscall.SYS_FCNTL, uintptr(p[1]), setPipeSize, pipeSize) // else it keeps its size
	return p[0], p[1], syscall.SetNonblock(p[0], true)
}

type pollFD struct {
	fd              int32
	events, revents int16
}

const pollIn = 1

// await waits until something can be read, and reports whether it is the last.
func await(fds []int) (last bool) {
	list := make([]pollFD, len(fds))
	for i, fd := range fds {
		list[i] = pollFD{fd: int32(fd), events: pollIn}
	}
	for {
		n, _, err := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)), 0, 0, 0, 0)
		if err == 0 && n > 0 || err != 0 && err != syscall.EINTR {
			return list[len(list)-1].revents != 0
		}
	}
}
