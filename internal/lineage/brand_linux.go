package lineage

import (
	"fmt"
	"syscall"
	"unsafe"
)

// A brand is the limit on file locks: a limit that the kernel has not heeded since
// Linux 2.4, but still hands down to what a process starts, whatever that does to
// its environment, its group, its terminal or its parents, and that without
// privileges only goes down. A process that lowers it has lost the brand.
const limitLocks = 10 // RLIMIT_LOCKS

// SetBrand brands a process of this user that has just been started. It fails where
// the system does not allow it, or the process has a lower limit already.
func SetBrand(pid int, run string) error {
	n := Brand(run)
	if err := limit(pid, &syscall.Rlimit{Cur: n, Max: n}, nil); err != nil {
		return fmt.Errorf("brand process %d: %w", pid, err)
	}
	return nil
}

// BrandOf returns a process's brand, 0 for none or where it may not be asked for,
// such as another user's.
func BrandOf(pid int) uint64 {
	var now syscall.Rlimit
	if limit(pid, nil, &now) != nil || !isBrand(now.Max) {
		return 0
	}
	return now.Max
}

func limit(pid int, set, get *syscall.Rlimit) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), limitLocks, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
