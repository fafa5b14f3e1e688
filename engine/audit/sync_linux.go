package audit

import (
	"os"
	"syscall"
)

// syncData waits until the bytes of f are on disk, without the times of the file.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			failed = syscall.Fdatasync(int(fd))
		}
	}); err != nil {
		return err
	}
	return os.NewSyscallError("fdatasync", failed)
}
