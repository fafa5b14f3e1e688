package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// TestStopEndsTheTree: when Stop has returned, nothing runs any more, not even what
// left the process's group and terminal session.
func TestStopEndsTheTree(t *testing.T) {
	const parent = `{"turns":[[{"spawn_child":{"pid_file":"${CWD}/pid"}},{"text":"at work"},{"wait_interrupt":true}]]}`
	for _, force := range []bool{false, true} {
		h := newHarness(t, parent, nil)
		s := h.mustBegin(nil).Session()
		h.until(s, "output", func() bool { return find(s, event.Output, "at work") })
		pid, err := os.ReadFile(filepath.Join(h.dir, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		if !running(string(pid)) {
			t.Fatal("the child has ended before")
		}
		how := stop
		how.Force = force
		if err := s.Stop(within(t), how); err != nil {
			t.Fatal(err)
		}
		if running(string(pid)) {
			t.Errorf("by force %v: the child lives on", force)
		}
	}
}

// running reports whether a process is there that is not a dead one.
func running(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
