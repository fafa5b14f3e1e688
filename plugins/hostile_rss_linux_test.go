package plugins

import (
	"os"
	"syscall"
)

// peak is the most memory a process had, in bytes.
func peak(s *os.ProcessState) (int64, bool) {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	return int64(usage.Maxrss) << 10, true
}
