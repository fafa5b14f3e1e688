//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

func prepare(cmd *exec.Cmd, noTerminal bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !noTerminal, Setsid: noTerminal} // either makes a group of its own
	setParentDeath(cmd.SysProcAttr)
}

func (p *Process) signalInterrupt() { p.cmd.Process.Signal(syscall.SIGINT) }
func (p *Process) signalTerminate() { p.signalGroup(syscall.SIGTERM) }

// freeze keeps the process and its group from doing, or starting, another thing
// while it is looked at.
func (p *Process) freeze() { p.signalGroup(syscall.SIGSTOP) }

func (p *Process) killGroup() { p.signalGroup(syscall.SIGKILL) }

// signalGroup signals the process and its group while their id is theirs.
func (p *Process) signalGroup(s syscall.Signal) {
	p.life.Lock()
	defer p.life.Unlock()
	if !p.reaped {
		syscall.Kill(-p.PID(), s)
	}
}

// killGroup ends a group of another start.
func killGroup(group int) { syscall.Kill(-group, syscall.SIGKILL) }

// wait returns when the process has ended, and takes its status.
func (p *Process) wait() {
	if p.awaitEnd() {
		p.life.Lock()
		defer p.life.Unlock()
		syscall.Kill(-p.PID(), syscall.SIGKILL) // as long as the dead one keeps its group's id for it
		p.cmd.Wait()                            // at once
		p.reaped = true
		return
	}
	p.cmd.Wait()
	p.life.Lock()
	defer p.life.Unlock()
	p.reaped = true
}
