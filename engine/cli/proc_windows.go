package cli

import (
	"os/exec"
	"strconv"
	"syscall"
)

func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

// member is unused here: taskkill walks the tree itself.
type member struct{}

func descendants(int, string) []member { return nil }

func kill([]member) int { return 0 }

// There is no soft signal that reaches a child without a console.
func (p *Process) signalInterrupt() {}

func (p *Process) signalTerminate() {
	exec.Command("taskkill", "/T", "/PID", strconv.Itoa(p.PID())).Run()
}

func (p *Process) killGroup() {
	select {
	case <-p.done:
	default:
		exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.PID())).Run()
	}
}
