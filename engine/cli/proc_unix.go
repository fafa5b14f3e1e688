//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

func (p *Process) signalInterrupt() { syscall.Kill(p.PID(), syscall.SIGINT) }
func (p *Process) signalTerminate() { syscall.Kill(-p.PID(), syscall.SIGTERM) }

// killGroup also ends the process itself. A group id stays reserved while a
// member lives, so this never reaches a stranger before the sweep is over.
func (p *Process) killGroup() {
	select {
	case <-p.done:
	default:
		syscall.Kill(-p.PID(), syscall.SIGKILL)
	}
}

func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	setParentDeath(cmd.SysProcAttr)
}
