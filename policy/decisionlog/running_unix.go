//go:build unix

package decisionlog

import (
	"errors"
	"syscall"
)

// running reports whether a process with this number exists.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && (err == nil || errors.Is(err, syscall.EPERM))
}
