//go:build !linux

package cli_test

import (
	"os"
	"syscall"
)

// alive reports whether a process can still be found.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return p.Signal(syscall.Signal(0)) == nil
}
