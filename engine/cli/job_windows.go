package cli

import (
	"fmt"
	"syscall"
	"unsafe"
)

var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
	generateConsoleCtrlEvent = kernel32.NewProc("GenerateConsoleCtrlEvent")
)

// tree is the Job Object that a process and all it starts live in. The system ends
// them when its last handle is closed, so also when the server dies. A process
// joins right after its start; what it starts in the moment before is outside, and
// is found by its parent link only.
type tree struct{ job syscall.Handle }

const (
	extendedLimitInformation = 9      // JobObjectExtendedLimitInformation
	limitKillOnJobClose      = 0x2000 // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
)

// extendedLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type extendedLimits struct {
	perProcessUserTime, perJobUserTime int64
	limitFlags                         uint32
	minWorkingSet, maxWorkingSet       uintptr
	activeProcesses                    uint32
	affinity                           uintptr
	priorityClass, schedulingClass     uint32
	io                                 [6]uint64
	processMemory, jobMemory           uintptr
	peakProcessMemory, peakJobMemory   uintptr
}

// adopt puts the process into a job of its own.
func (p *Process) adopt() error {
	job, _, err := createJobObject.Call(0, 0)
	if job == 0 {
		return fmt.Errorf("make a job: %w", err)
	}
	p.tree.job = syscall.Handle(job)
	limits := extendedLimits{limitFlags: limitKillOnJobClose}
	ok, _, err := setInformationJobObject.Call(job, extendedLimitInformation, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		return fmt.Errorf("set up a job: %w", err)
	}
	var failed error
	err = p.cmd.Process.WithHandle(func(process uintptr) {
		if ok, _, err := assignProcessToJobObject.Call(job, process); ok == 0 {
			failed = fmt.Errorf("put the process into a job: %w", err)
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// killGroup ends all that is in the job, or, where there is none yet, the process.
func (p *Process) killGroup() {
	p.life.Lock()
	defer p.life.Unlock()
	if p.tree.job == 0 {
		p.cmd.Process.Kill()
		return
	}
	terminateJobObject.Call(uintptr(p.tree.job), 1)
}

// close lets go of the job, which ends what is still in it.
func (p *Process) close() {
	p.life.Lock()
	defer p.life.Unlock()
	if p.tree.job != 0 {
		syscall.CloseHandle(p.tree.job)
		p.tree.job = 0
	}
}
