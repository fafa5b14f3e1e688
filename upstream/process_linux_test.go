package upstream

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
)

// beCrashing is a Gatehouse with a server that runs, for who kills it. What the
// server started tells its process id in a file of the folder.
func beCrashing(folder string) {
	registry, err := cli.OpenRegistry(filepath.Join(folder, "processes"))
	if err != nil {
		panic(err)
	}
	exe, _ := os.Executable()
	s, err := Open(Config{Name: "fake", Command: []string{exe, "be-a-server", "child"}, Env: map[string]Source{"FOLDER": is(Secret(folder))}}, Options{Processes: registry})
	if err != nil {
		panic(err)
	}
	var l inproc.Link
	if l, err = s.Connect("a", nil); err != nil {
		panic(err)
	}
	<-l.(*link).freed
	time.Sleep(time.Hour)
}

// startChild leaves a process of its own behind, which ignores the end of the server.
func startChild() {
	child := exec.Command("sleep", "600")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		panic(err)
	}
	folder := os.Getenv("FOLDER")
	os.WriteFile(filepath.Join(folder, "pids.new"), fmt.Appendln(nil, os.Getpid(), child.Process.Pid), 0o600)
	os.Rename(filepath.Join(folder, "pids.new"), filepath.Join(folder, "pids"))
}

// What a Gatehouse that is killed leaves of its servers is known to the next one.
func TestSweepAfterACrash(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("this system has no program sleep, which the crashing server starts as a child to be swept")
	}
	folder := t.TempDir()
	crashing := exec.Command(os.Args[0], "be-crashing", folder)
	crashing.Env = append(os.Environ(), "TMPDIR="+folder) // for the folder that the server runs in
	if err := crashing.Start(); err != nil {
		t.Fatal(err)
	}
	defer crashing.Process.Kill()
	var server, child int
	waitFor(t, "the server runs", func() bool {
		raw, _ := os.ReadFile(filepath.Join(folder, "pids"))
		n, _ := fmt.Sscan(string(raw), &server, &child)
		return n == 2
	})
	defer syscall.Kill(child, syscall.SIGKILL)
	crashing.Process.Kill()
	crashing.Wait()
	entries, err := cli.ReadRegistry(filepath.Join(folder, "processes"))
	if err != nil || len(entries) != 1 || entries[0].PID != server || !strings.HasPrefix(entries[0].Session, "mcp-server:fake:") {
		t.Fatalf("registry: %+v, %v; the server is %d", entries, err, server)
	}
	if _, err := cli.Sweep(entries); err != nil {
		t.Error(err)
	}
	mustBeDead(t, server)
	mustBeDead(t, child)
}

// mustBeDead is for a process that nobody may have waited for.
func mustBeDead(t *testing.T, pid int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(raw), ") Z ")
	})
}

// Restarts leave no open files and no folders behind.
func TestRestartsLeaveNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	s, _ := open(t, programConfig(t, "crash-at-start"))
	run := func(times int) {
		for range times {
			ctx, cancel := context.WithTimeout(t.Context(), plenty)
			if _, err := s.Tools(ctx); err == nil {
				t.Error("it started")
			}
			cancel()
		}
	}
	run(3)
	before := files()
	run(30)
	waitFor(t, "its files are closed", func() bool { return files() <= before+3 })
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}
