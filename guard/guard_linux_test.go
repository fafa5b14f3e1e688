package guard

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// newMark is an argument of sleep that no other process has.
func newMark() string { return strconv.Itoa(1e9 + rand.IntN(1e9)) }

// marked counts the processes that sleep so long.
func marked(mark string) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		line, err := os.ReadFile(d + "/cmdline")
		if err == nil && bytes.Equal(line, []byte("sleep\x00"+mark+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(d))
			pids = append(pids, pid)
		}
	}
	return pids
}

// until waits for something to become true.
func until(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// grown starts a server with trees and waits until they stand.
func grown(t testing.TB, n int, mark string) *guarded {
	t.Helper()
	g := startGuarded(t, command(t, "serve", "trees", strconv.Itoa(n), mark))
	until(t, "trees stand", func() bool { return len(marked(mark)) == n*perTree })
	t.Cleanup(func() { uproot(mark) })
	return g
}

// uproot cleans up after a test that failed.
func uproot(mark string) {
	for _, pid := range marked(mark) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A server that is killed leaves nothing, whatever its processes did to get away.
func TestKilledServer(t *testing.T) {
	mark := newMark()
	g := grown(t, 20, mark)
	syscall.Kill(g.server, syscall.SIGKILL)
	code := g.code()
	if left := marked(mark); len(left) > 0 || code != 137 {
		t.Errorf("code %d, left: %d", code, len(left))
	}
	var ended int
	fmt.Sscanf(g.stderr.String(), "gatehouse: the server was ended by a signal (killed); %d processes", &ended)
	if ended != 20*perTree {
		t.Errorf("stderr %q", &g.stderr)
	}
}

// A server that ends in order but leaves processes is helped.
func TestLeftBehind(t *testing.T) {
	mark := newMark()
	cmd := command(t, "serve", "leave", "3", mark)
	g := startGuarded(t, cmd)
	defer uproot(mark)
	code := g.code()
	if left := marked(mark); code != 0 || len(left) > 0 || !strings.Contains(g.stderr.String(), "processes that were left of its sessions were ended") {
		t.Errorf("code %d, left %d, stderr %q", code, len(left), &g.stderr)
	}
}

// Children from before the guard, such as a shell's that became it, are nobody
// else's to end.
func TestInheritedChildren(t *testing.T) {
	before, tree := newMark(), newMark()
	defer uproot(before)
	defer uproot(tree)
	cmd := command(t)
	g := startGuarded(t, exec.Command("sh", "-c", `sleep `+before+` >/dev/null 2>&1 & exec "$0" serve trees 2 `+tree, cmd.Path))
	until(t, "trees stand", func() bool { return len(marked(tree)) == 2*perTree && len(marked(before)) == 1 })
	syscall.Kill(g.server, syscall.SIGKILL)
	code := g.code()
	if left, own := marked(tree), marked(before); code != 137 || len(left) > 0 || len(own) != 1 {
		t.Errorf("code %d, left %d, of before %d", code, len(left), len(own))
	}
}

// Orphans are collected while the server runs.
func TestOrphans(t *testing.T) {
	g := grown(t, 1, newMark())
	adopted := 0
	for _, p := range descendants(g.cmd.Process.Pid, nil) {
		if p.parent == g.cmd.Process.Pid && p.pid != g.server {
			adopted++
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	if adopted != 2 {
		t.Errorf("the guard has adopted %d processes, want the two that lost their parent", adopted)
	}
	until(t, "no zombie is left", func() bool {
		for _, p := range processes() {
			if p.parent == g.cmd.Process.Pid && p.zombie {
				return false
			}
		}
		return true
	})
}

// A server outside of a terminal has a group of its own; it stops and goes on
// with the guard.
func TestJobControl(t *testing.T) {
	g := startGuarded(t, command(t, "serve", "wait"))
	state := func(pid int) string {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(raw), ") ")
		return after[:min(1, len(after))]
	}
	g.cmd.Process.Signal(syscall.SIGTSTP)
	until(t, "both stopped", func() bool { return state(g.server) == "T" && state(g.cmd.Process.Pid) == "T" })
	g.cmd.Process.Signal(syscall.SIGCONT)
	until(t, "both go on", func() bool { return state(g.server) != "T" && state(g.cmd.Process.Pid) != "T" })
	g.in.Close()
	if got := g.line(); got != "end of input" || g.code() != 0 {
		t.Errorf("%q", got)
	}
}

// terminal makes a pair of terminal ends.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	var number, unlock int32
	for operation, p := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), operation, uintptr(unsafe.Pointer(p))); errno != 0 {
			t.Skip("no terminals here: ", errno)
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// At a terminal the server reads it, gets its keys once, and the guard lives on.
func TestTerminal(t *testing.T) {
	master, slave := terminal(t)
	cmd := command(t, "run", "wait")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var g guarded
	g.t, g.cmd = t, cmd
	g.out = bufio.NewReader(out)
	cmd.Stderr = &g.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	slave.Close()
	fmt.Sscanf(g.line(), "server %d parent %d group %d", &g.server, &g.parent, &g.group)
	if g.parent != cmd.Process.Pid || g.group != cmd.Process.Pid {
		t.Errorf("server %d, parent %d, group %d; guard %d", g.server, g.parent, g.group, cmd.Process.Pid)
	}
	for _, step := range []struct{ keys, want string }{
		{"yes\n", "read yes"},
		{"\x03", "got interrupt"},
		{"no\n", "read no"}, // so the key came once
		{"\x1c", "got quit"},
		{"on\n", "read on"},
	} {
		io.WriteString(master, step.keys)
		if got := g.line(); got != step.want {
			t.Errorf("after %q: %q, want %q", step.keys, got, step.want)
		}
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if got := g.line(); got != "got terminated" || g.code() != 0 {
		t.Errorf("%q", got)
	}
}

// The guard has the server's environment: no other process of the user may read
// it either. Files of a process that hides belong to root.
func TestGuardHides(t *testing.T) {
	const nobody = 65534
	cmd := command(t, "serve", "wait")
	if os.Getuid() == 0 {
		cmd.Path = "/proc/self/exe" // readable by nobody, unlike the folders of a test
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	g := startGuarded(t, cmd)
	info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
		t.Errorf("its environment belongs to user %d", uid)
	}
	g.in.Close()
	if code := g.code(); code != 0 {
		t.Errorf("code %d, stderr %q", code, &g.stderr)
	}
}

// BenchmarkKilledServer measures from the kill -9 of a server with 300 trees of
// processes until its guard has ended.
func BenchmarkKilledServer(b *testing.B) {
	const trees = 300
	var took []time.Duration
	for b.Loop() {
		mark := newMark()
		g := grown(b, trees, mark)
		begin := time.Now()
		syscall.Kill(g.server, syscall.SIGKILL)
		g.code()
		took = append(took, time.Since(begin))
		if left := marked(mark); len(left) > 0 {
			b.Fatalf("%d processes are left", len(left))
		}
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took[len(took)/2].Seconds(), "s/kill")
	b.ReportMetric(took[len(took)-1].Seconds(), "s-longest")
	b.ReportMetric(trees*perTree, "processes")
}
