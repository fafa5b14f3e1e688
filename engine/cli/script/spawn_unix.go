//go:build unix

package script

import (
	"os/exec"
	"syscall"
)

// startChild starts a real process in a session of its own, which a kill of the
// CLI's process group does not reach, as the real CLI's shells are.
func startChild() (pid int, err error) {
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }() // ends with the child; its status is nobody's concern
	return cmd.Process.Pid, nil
}
