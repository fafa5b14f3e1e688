package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// setParentDeath makes the kernel end the CLI when the server dies.
func setParentDeath(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

var spawner = sync.OnceValue(func() chan func() {
	work := make(chan func())
	go func() { // lives as long as the server: the parent-death signal belongs to this thread
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// spawn starts cmd from the one locked thread.
func spawn(cmd *exec.Cmd) error {
	done := make(chan error)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}

// member is a process by id and start time, so that a reused id is not mistaken for it.
type member struct {
	pid   int
	start string
}

type procInfo struct {
	member
	parent int
	zombie bool
}

// descendants lists what root started, by parent links and by the marker in the
// environment, without root itself.
func descendants(root int, marker string) []member {
	all := processes()
	children := make(map[int][]procInfo)
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	found := make(map[int]member)
	var walk func(pid int)
	walk = func(pid int) {
		for _, c := range children[pid] {
			if _, seen := found[c.pid]; !seen {
				found[c.pid] = c.member
				walk(c.pid)
			}
		}
	}
	walk(root)
	for _, p := range all {
		if p.pid != root && p.pid != os.Getpid() && !p.zombie && marked(p.pid, marker) {
			found[p.pid] = p.member
			walk(p.pid)
		}
	}
	list := make([]member, 0, len(found))
	for _, m := range found {
		list = append(list, m)
	}
	return list
}

func processes() []procInfo {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	list := make([]procInfo, 0, len(dirs))
	for _, d := range dirs {
		if p, ok := stat(d); ok {
			list = append(list, p)
		}
	}
	return list
}

// stat reads /proc/PID/stat; the fields follow the last ")" since names may hold anything.
func stat(dir string) (procInfo, bool) {
	raw, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return procInfo{}, false
	}
	i := bytes.LastIndexByte(raw, ')')
	fields := strings.Fields(string(raw[i+1:]))
	pid, err := strconv.Atoi(filepath.Base(dir))
	if err != nil || len(fields) < 20 {
		return procInfo{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	return procInfo{member{pid, fields[19]}, parent, fields[0] == "Z"}, true
}

func marked(pid int, marker string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	want := MarkerEnv + "=" + marker
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == want {
			return true
		}
	}
	return false
}

// kill ends every member that still is the process it was, and returns how many lived.
func kill(tree []member) (alive int) {
	for _, m := range tree {
		p, ok := stat("/proc/" + strconv.Itoa(m.pid))
		if !ok || p.zombie || p.start != m.start {
			continue
		}
		alive++
		syscall.Kill(m.pid, syscall.SIGKILL)
	}
	return alive
}
