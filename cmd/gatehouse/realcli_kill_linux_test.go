package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRealCLIKilled: a kill -9 of the server, or of the CLI, leaves nothing of a
// command that the CLI runs.
func TestRealCLIKilled(t *testing.T) {
	for _, tt := range []struct {
		name string
		find func(t *testing.T, guard int) int // the process to kill
		code int
	}{
		{"server", guardedBy, 137},
		{"cli", func(t *testing.T, guard int) int { return childOf(t, guardedBy(t, guard), "") }, exitTurnFailed},
		{"guard", func(_ *testing.T, guard int) int { return guard }, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mark := strconv.Itoa(1e9 + rand.IntN(1e9))
			w := newRealWorldWith(t, "(setsid sleep "+mark+" &) ; sleep "+mark)
			cmd := exec.Command("gatehouse", "run", "--cli", w.cli, "--on-ask", "stdin", "wait")
			cmd.Dir, cmd.Env = w.project, w.environ
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cmd.Process.Kill(); killAll(sleeping(mark)) }()
			io.WriteString(in, "allow\n")
			awaitTrue(t, "the command runs", func() bool { return len(sleeping(mark)) == 2 })
			home := "HOME=" + filepath.Join(filepath.Dir(w.project), "home")
			pid := tt.find(t, cmd.Process.Pid)
			syscall.Kill(pid, syscall.SIGKILL)
			cmd.Wait() // also for whoever holds the output
			if left := sleeping(mark); len(left) > 0 || cmd.ProcessState.ExitCode() != tt.code {
				t.Errorf("exit %d, want %d; %d commands are left\n%s", cmd.ProcessState.ExitCode(), tt.code, len(left), &out)
			}
			if left := inHome(home); len(left) > 0 {
				t.Errorf("left in the test's home: %d\n%s", left, &out)
			}
		})
	}
}

// guardedBy is the server of a guard, which has adopted other children, too.
func guardedBy(t *testing.T, guard int) int {
	t.Helper()
	return childOf(t, guard, "gatehouse\x00run\x00")
}

// childOf is the one process below a parent whose command line begins so.
func childOf(t *testing.T, parent int, line string) (child int) {
	t.Helper()
	awaitTrue(t, fmt.Sprintf("process %d has one child %q", parent, line), func() bool {
		var children []int
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, d := range dirs {
			stat, _ := os.ReadFile(d + "/stat")
			_, after, _ := strings.Cut(string(stat), ") ")
			own, _ := os.ReadFile(d + "/cmdline")
			if f := strings.Fields(after); len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(parent) && strings.HasPrefix(string(own), line) {
				pid, _ := strconv.Atoi(filepath.Base(d))
				children = append(children, pid)
			}
		}
		if len(children) == 1 {
			child = children[0]
		}
		return len(children) == 1
	})
	return child
}

// sleeping are the processes that sleep so long.
func sleeping(mark string) (pids []int) {
	return matching("cmdline", "sleep\x00"+mark+"\x00")
}

// inHome are those with such a variable that can be looked at.
func inHome(variable string) (pids []int) {
	return matching("environ", variable+"\x00")
}

func matching(file, text string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err == nil && (file == "cmdline" && string(raw) == text || file == "environ" && bytes.Contains(raw, []byte(text))) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func killAll(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func awaitTrue(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}
