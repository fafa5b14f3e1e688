package guard

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Operations of prctl, linux/prctl.h.
const (
	setDumpable  = 4  // PR_SET_DUMPABLE
	setName      = 15 // PR_SET_NAME
	setSubreaper = 36 // PR_SET_CHILD_SUBREAPER
)

func prctl(operation, value uintptr) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, operation, value, 0); errno != 0 {
		return errno
	}
	return nil
}

// name gives this process the name that ps shows, of which the kernel keeps 15
// bytes. Without it a server would be called exe, see program.
func name(path string) {
	base, _ := syscall.ByteSliceFromString(path[strings.LastIndexByte(path, '/')+1:])
	if len(base) > 0 {
		prctl(setName, uintptr(unsafe.Pointer(&base[0])))
	}
}

// program is this program, also when its file was replaced by another version.
func program() (string, error) { return "/proc/self/exe", nil }

func attributes(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGTERM}
}

// prepare makes this process the parent of what loses its own, and hides it as
// the server hides itself: it has the same environment. It returns the children
// this process has already, as a shell that becomes this program leaves them.
func prepare() (before map[int]string, err error) {
	if err := prctl(setSubreaper, 1); err != nil {
		return nil, fmt.Errorf("adopt what loses its parent (prctl): %w", err)
	}
	if err := prctl(setDumpable, 0); err != nil {
		release()
		return nil, fmt.Errorf("hide from others of the same user (prctl): %w", err)
	}
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err == syscall.ECHILD {
		name("gatehouse-guard")
		return nil, nil
	}
	before = make(map[int]string)
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			before[p.pid] = p.start
		}
	}
	name("gatehouse-guard")
	return before, nil
}

// release undoes prepare, for a process that becomes the server itself.
func release() {
	prctl(setSubreaper, 0)
	name(os.Args[0])
}

// sweep ends every descendant of this process, except for the children it had
// before and theirs, until none is left.
func sweep(before map[int]string, _ string) (ended, left int) {
	seen := make(map[id]bool)
	empty := 0
	for deadline := time.Now().Add(sweepTime); ; time.Sleep(sweepPause) {
		if none := collect(); none {
			return len(seen), 0
		}
		tree := descendants(os.Getpid(), before)
		for _, p := range tree {
			if now, err := look(p.pid); err == nil && now.id == p.id && syscall.Kill(p.pid, syscall.SIGKILL) == nil {
				seen[p.id] = true
			}
		}
		// One look may miss a process that changes its id meanwhile; that no child
		// is left says it all, unless there were some before.
		if empty++; len(tree) > 0 {
			empty = 0
		}
		if empty > 1 && len(before) > 0 {
			return len(seen), 0
		}
		if time.Now().After(deadline) {
			return len(seen), len(tree)
		}
	}
}

// collect takes the exit of every child that has ended, and reports whether there
// is no child at all.
func collect() (none bool) {
	for {
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return true
		case pid == 0:
			return false
		}
	}
}

// id names a process for good: ids of processes are used again.
type id struct {
	pid   int
	start string // in clock ticks since the machine's start
}

type process struct {
	id
	parent int
	zombie bool
}

// descendants lists what root started, and what they started, that has not ended.
func descendants(root int, except map[int]string) (list []process) {
	children := make(map[int][]process)
	for _, p := range processes() {
		if start, ok := except[p.pid]; !ok || start != p.start {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	known := map[int]bool{root: true} // what was read is no snapshot: links may form a ring
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			if known[p.pid] {
				continue
			}
			known[p.pid] = true
			queue = append(queue, p.pid)
			if !p.zombie {
				list = append(list, p)
			}
		}
	}
	return list
}

func processes() (list []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if p, err := look(pid); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// look reads /proc/PID/stat; the fields follow the last ")", since a name may
// hold anything.
func look(pid int) (process, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return process{}, errors.New("too few fields")
	}
	parent, err := strconv.Atoi(fields[1])
	return process{id: id{pid, fields[19]}, parent: parent, zombie: fields[0] == "Z" || fields[0] == "X"}, err
}

// isLine reports whether a file is the line that a guard made: the kernel keeps who
// made a pair of sockets, which no shell can do. A server that takes anything else
// for its guard would run without.
func isLine(fd, guard int) bool {
	maker, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	return err == nil && int(maker.Pid) == guard
}
