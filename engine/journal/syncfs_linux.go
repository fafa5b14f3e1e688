//go:build linux && (amd64 || arm64)

package journal

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// syncsSystem reports whether a file system can be synced as a whole, and tells
// when that failed, which Linux does since 5.8.
var syncsSystem = sync.OnceValue(func() bool {
	var name syscall.Utsname
	if syscall.Uname(&name) != nil {
		return false
	}
	release := make([]byte, 0, len(name.Release))
	for _, c := range name.Release {
		release = append(release, byte(c))
	}
	var major, minor int
	if n, _ := fmt.Sscanf(string(release), "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 5 || major == 5 && minor >= 8
})

// syncSystem syncs the file system that root is on.
func syncSystem(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, failed := syscall.Syscall(sysSyncfs, f.Fd(), 0, 0); failed != 0 {
		return os.NewSyscallError("syncfs", failed)
	}
	return nil
}
