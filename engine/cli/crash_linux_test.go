package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// crashing is a server that starts a session and is killed. What the session
// starts: one in its group, one in a session of its own, one that forked twice.
func crashing(dir string) int {
	registry, err := cli.OpenRegistry(filepath.Join(dir, "processes.jsonl"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	const script = `sh -c 'echo $$ >group; exec sleep 600' & setsid sh -c 'echo $$ >alone; exec sleep 600' &
		(setsid sh -c 'sh -c "echo \$\$ >orphan; exec sleep 600" & exit' &); echo $$ >cli; echo '{}'; wait`
	if _, err := cli.Start(cli.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Env: os.Environ(), Marker: "crashed", Registry: registry}); err != nil {
		fmt.Println(err)
		return 1
	}
	select {}
}

func crash(t *testing.T) (entries []cli.Entry, pids []int) {
	t.Helper()
	need(t, "sh", "setsid", "sleep")
	dir := t.TempDir()
	server := exec.Command(os.Args[0], "misbehave", "crashing", dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	pids = pidsIn(t, dir, "cli", "group", "alone", "orphan")
	t.Cleanup(func() {
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	server.Process.Kill()
	server.Wait()
	entries, err := cli.ReadRegistry(filepath.Join(dir, "processes.jsonl"))
	if err != nil || len(entries) != 1 || entries[0].PID != pids[0] {
		t.Fatalf("registry: %+v, %v; the CLI is %d", entries, err, pids[0])
	}
	return entries, pids
}

func TestSweepAfterACrash(t *testing.T) {
	t.Parallel()
	entries, pids := crash(t)
	mustDie(t, pids[0]) // with its server
	ended, err := cli.Sweep(entries)
	if ended != 3 || err != nil {
		t.Errorf("ended %d, %v; want 3", ended, err)
	}
	mustDie(t, pids...)
	if ended, err := cli.Sweep(entries); ended != 0 || err != nil {
		t.Errorf("a second time: %d, %v", ended, err)
	}
}

// Who is not what the entry says lives on: another start of the session, another
// run of the machine, a reused id, this process and those that run it.
func TestSweepSparesOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "processes.jsonl")
	registry, err := cli.OpenRegistry(path)
	if err != nil {
		t.Fatal(err)
	}
	p := shell(t, dir, `echo '{}'; read -r line`, func(c *cli.Command) { c.Registry, c.Marker = registry, "spared" })
	entries, err := cli.ReadRegistry(path)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	change := func(f func(*cli.Entry)) cli.Entry {
		e := entries[0]
		f(&e)
		return e
	}
	for name, e := range map[string]cli.Entry{
		"another start of the session": change(func(e *cli.Entry) { e.PID, e.Start, e.Run = 1<<22+1, "1", "other" }),
		"another run of the machine":   change(func(e *cli.Entry) { e.Boot = "other" }),
		"no run of the machine":        change(func(e *cli.Entry) { e.Boot = "" }),
		"a reused id":                  change(func(e *cli.Entry) { e.Start, e.Run = "1", "other" }),
		"the first process":            change(func(e *cli.Entry) { e.PID, e.Run = 1, "other" }),
		"a group":                      change(func(e *cli.Entry) { e.PID, e.Run = -e.PID, "other" }),
		"nothing":                      {},
	} {
		if ended, err := cli.Sweep([]cli.Entry{e}); ended != 0 || err != nil || !alive(p.PID()) {
			t.Fatalf("%s: ended %d, %v", name, ended, err)
		}
	}
	if ended, err := cli.Sweep(entries); ended != 1 || err != nil {
		t.Errorf("itself: %d, %v", ended, err)
	}
}

// A sub-reaper ends also what cleared its environment and lost its parents.
func TestSweepDescendants(t *testing.T) {
	t.Parallel()
	need(t, "sh", "setsid", "sleep", "env")
	dir := t.TempDir()
	out, err := exec.Command(os.Args[0], "misbehave", "reaper", dir).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ended 2" {
		t.Errorf("%v: %s", err, out)
	}
	mustDie(t, pidsIn(t, dir, "orphan", "child")...)
}

const prSetChildSubreaper = 36

func reaper(dir string) int {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		fmt.Println(errno)
		return 1
	}
	cmd := exec.Command("/bin/sh", "-c", `(env -i setsid sh -c '(env -i setsid sh -c "echo \$\$ >orphan; exec sleep 600" &) ; exec true' &)
		setsid sh -c 'echo $$ >child; exec sleep 600' & while [ ! -s orphan ] || [ ! -s child ]; do sleep 0.02; done`)
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
		return 1
	}
	ended, err := cli.SweepDescendants(os.Getpid())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ended", ended)
	return 0
}

// Another user's process is not ended, also where we could, and that is told.
func TestStopTellsOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	t.Parallel()
	need(t, "setpriv", "setsid")
	dir := t.TempDir()
	p := shell(t, dir, `setsid sh -c 'echo $$ >child; exec setpriv --reuid=65534 --clear-groups sleep 600' & echo '{}'; read -r line`, nil)
	pids := pidsIn(t, dir, "child")
	waitFor(t, "it is another user's", func() bool {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", pids[0]))
		return err == nil && info.Sys().(*syscall.Stat_t).Uid == 65534
	})
	err := p.Stop()
	lives := alive(pids[0])
	syscall.Kill(pids[0], syscall.SIGKILL)
	if !lives || !errors.Is(err, cli.ErrLeft) || !strings.Contains(err.Error(), fmt.Sprint(pids[0])) {
		t.Errorf("stop: %v, it lives: %v", err, lives)
	}
}

// Processes that run take no thread each.
func TestThreads(t *testing.T) {
	need(t, "sh")
	var running []*cli.Process
	for i := range 100 {
		p := shell(t, t.TempDir(), `echo '{}'; read -r line`, func(c *cli.Command) { c.Marker = fmt.Sprint("threads-", i) })
		if _, err := p.Read(); err != nil {
			t.Fatal(err)
		}
		running = append(running, p)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) > 60 {
		t.Errorf("%d threads for %d processes, %v", len(threads), len(running), err)
	}
}
