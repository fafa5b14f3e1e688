//go:build unix && !linux

package cli

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// There is no parent-death signal here.
func setParentDeath(*syscall.SysProcAttr) {}

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

// member is a process by id and start time.
type member struct {
	pid   int
	start string
}

// descendants lists what root started by parent links. A process that left both
// its parent and its group is not found on this platform.
func descendants(root int, _ string) []member {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,lstart=").Output()
	if err != nil {
		return nil
	}
	children := make(map[int][]member)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		children[parent] = append(children[parent], member{pid, strings.Join(f[2:], " ")})
	}
	var list []member
	queue := []int{root}
	for len(queue) > 0 {
		for _, c := range children[queue[0]] {
			list = append(list, c)
			queue = append(queue, c.pid)
		}
		queue = queue[1:]
	}
	return list
}

func kill(tree []member) (alive int) {
	for _, m := range tree {
		out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(m.pid)).Output()
		if err != nil || strings.Join(strings.Fields(string(out)), " ") != m.start {
			continue
		}
		alive++
		syscall.Kill(m.pid, syscall.SIGKILL)
	}
	return alive
}
