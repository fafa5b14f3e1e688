//go:build !unix

package decisionlog

import "os"

// running reports whether a process with this number exists.
func running(pid int) bool {
	p, err := os.FindProcess(pid) // fails where there is none
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}
