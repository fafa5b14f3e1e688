package cli

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"
)

// createNoWindow is CREATE_NO_WINDOW: a console of its own, which nobody sees.
const createNoWindow = 0x08000000

func prepare(cmd *exec.Cmd, noTerminal bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if noTerminal {
		cmd.SysProcAttr.CreationFlags |= createNoWindow
	}
}

func spawn(f func()) { f() }

// wait returns when the process has ended, and takes its status. What it started
// ends with it: there is no deadline for reading a pipe that a child holds.
func (p *Process) wait() {
	p.cmd.Wait()
	p.killGroup()
	p.life.Lock()
	defer p.life.Unlock()
	p.reaped = true
}

// There is no soft signal but CTRL_BREAK, and that reaches only a process with
// the server's console; most MCP clients start servers without one.
func (p *Process) signalInterrupt() {}

const ctrlBreak = 1

func (p *Process) signalTerminate() {
	p.life.Lock()
	defer p.life.Unlock()
	if !p.reaped {
		generateConsoleCtrlEvent.Call(ctrlBreak, uintptr(p.PID()))
	}
}

func (p *Process) freeze() {}

// Groups are jobs here, see job.
func killGroup(int) {}

// queryLimited is PROCESS_QUERY_LIMITED_INFORMATION.
const queryLimited = 0x1000

// processes lists who lives, with its creation time where it may be asked for.
// There are no marks: another process's environment cannot be read without
// reading its memory. A parent link to a process that is younger is one to an id
// that was used again, and left out.
func processes() (list []proc, settled bool, err error) {
	snapshot, err := syscall.CreateToolhelp32Snapshot(syscall.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, false, err
	}
	defer syscall.CloseHandle(snapshot)
	entry := syscall.ProcessEntry32{Size: uint32(unsafe.Sizeof(syscall.ProcessEntry32{}))}
	for err = syscall.Process32First(snapshot, &entry); err == nil; err = syscall.Process32Next(snapshot, &entry) {
		p := proc{parent: int(entry.ParentProcessID)}
		p.pid = int(entry.ProcessID)
		p.start, _ = startOf(p.pid) // "" for another user's: no member equals it
		list = append(list, p)
	}
	if !errors.Is(err, syscall.ERROR_NO_MORE_FILES) {
		return nil, false, err
	}
	return linked(list), true, nil
}

func linked(list []proc) []proc {
	starts := make(map[int]uint64, len(list))
	for _, p := range list {
		starts[p.pid], _ = strconv.ParseUint(p.start, 10, 64)
	}
	for i := range list {
		if p := &list[i]; starts[p.parent] == 0 || starts[p.parent] > starts[p.pid] {
			p.parent = 0
		}
	}
	return list
}

// startOf returns when a process was created, in units of 100 ns since 1601: no
// two of an id have the same, whichever run of the machine they belong to.
func startOf(pid int) (string, error) {
	h, err := syscall.OpenProcess(queryLimited, false, uint32(pid))
	if err != nil {
		return "", err
	}
	defer syscall.CloseHandle(h)
	return created(h)
}

func created(h syscall.Handle) (string, error) {
	var creation, exit, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(h, &creation, &exit, &kernel, &user); err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(creation.HighDateTime)<<32|uint64(creation.LowDateTime), 10), nil
}

// bootID is the same for all runs, see startOf.
func bootID() string { return "windows" }

// kill ends a process that still is the member; the handle holds on to it.
func kill(m member) fate {
	if m.pid == os.Getpid() {
		return foreign
	}
	h, err := syscall.OpenProcess(syscall.PROCESS_TERMINATE|queryLimited, false, uint32(m.pid))
	if errors.Is(err, syscall.ERROR_ACCESS_DENIED) {
		return foreign
	}
	if err != nil {
		return gone
	}
	defer syscall.CloseHandle(h)
	if start, err := created(h); err != nil || start != m.start {
		return gone
	}
	if syscall.TerminateProcess(h, 1) != nil {
		return gone // it is ending
	}
	return killed
}
