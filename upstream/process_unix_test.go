//go:build unix

package upstream

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func mustBeGone(t testing.TB, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatalf("process %d", pid)
	}
	waitFor(t, fmt.Sprintf("process %d has ended", pid), func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
}

// A server cannot ask the person at the terminal behind our back.
func TestNoTerminal(t *testing.T) {
	s, _ := open(t, programConfig(t, "ok"))
	l := connectTo(t, s, "a")
	l.start()
	if got := textOf(t, l.callTool("terminal", `{}`)); !strings.Contains(got, "/dev/tty") {
		t.Errorf("opening the terminal: %s", got)
	}
}
