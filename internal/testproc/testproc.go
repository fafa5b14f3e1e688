// Package testproc looks at processes for tests. Nothing but tests imports it.
package testproc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// ChildrenOf lists the children of a process, the oldest first.
func ChildrenOf(pid int) (children []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err == nil || runtime.GOOS == "linux" {
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			children = append(children, child)
		}
		return children
	}
	list, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(f[0])
			children = append(children, child)
		}
	}
	return children
}
