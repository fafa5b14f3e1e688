//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"os"
	"syscall"
	"unsafe"
)

func ownProgram() (string, error) { return os.Executable() }

func attributes(*int) *syscall.SysProcAttr { return nil }

// pipe returns a pipe that is not inherited; reading it does not wait.
func pipe() (r, w int, err error) {
	var p [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	syscall.CloseOnExec(p[0])
	syscall.CloseOnExec(p[1])
	return p[0], p[1], syscall.SetNonblock(p[0], true)
}

// await waits until something can be read, and reports whether it is the last.
func await(fds []int) (last bool) {
	for {
		var set syscall.FdSet
		bits := (*[unsafe.Sizeof(set)]byte)(unsafe.Pointer(&set)) // of little endian words
		limit := 0
		for _, fd := range fds {
			bits[fd/8] |= 1 << (fd % 8) // descriptors are small: this process has opened few
			limit = max(limit, fd+1)
		}
		if err := syscall.Select(limit, &set, nil, nil, nil); err != syscall.EINTR {
			end := fds[len(fds)-1]
			return bits[end/8]&(1<<(end%8)) != 0
		}
	}
}
