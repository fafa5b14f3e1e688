//go:build unix

package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// branded waits until the shell has its brand, which a real CLI, or a command that
// it runs, has long had; see package lineage.
const branded = "until grep -q 'file locks *[1-9]' /proc/$$/limits; do sleep 0.02; done\n"

// Whatever a session starts, and however, nothing of it outlives Stop.
func TestNothingIsLeft(t *testing.T) {
	need(t, "sh", "setsid", "sleep", "env")
	for _, tt := range []struct {
		name, script string
		files        []string
	}{
		{"ignores every signal", `trap '' HUP INT QUIT TERM; echo $$ >cli
			sh -c 'trap "" HUP INT QUIT TERM; echo $$ >child; while :; do sleep 1; done' & echo '{}'; while :; do sleep 1; done`, []string{"cli", "child"}},
		{"a session of its own", `setsid sh -c 'echo $$ >child; exec sleep 600' & echo '{}'; read -r line`, []string{"child"}},
		{"forks twice", `(setsid sh -c 'sh -c "echo \$\$ >child; exec sleep 600" & exit' &); echo '{}'; read -r line`, []string{"child"}},
		{"forks twice and ends", `(setsid sh -c 'sh -c "echo \$\$ >child; exec sleep 600" & exit' &); while [ ! -s child ]; do sleep 0.02; done; echo '{}'`, []string{"child"}},
		{"holds stdout after the end", `setsid sh -c 'echo $$ >child; exec sleep 600' & while [ ! -s child ]; do sleep 0.02; done; echo '{}'; exit 3`, []string{"child"}},
		{"in its group, without environment, after the end", `env -i sh -c 'echo $$ >child; exec sleep 600' & while [ ! -s child ]; do sleep 0.02; done; echo '{}'; exit`, []string{"child"}},
		{"a session of its own, without environment", `env -i setsid sh -c 'echo $$ >child; exec sleep 600' & echo '{}'; read -r line`, []string{"child"}},
		{"forks twice, without environment", branded + `(env -i setsid sh -c 'cd /; sh -c "echo \$\$ >$OLDPWD/child; exec sleep 600" >/dev/null 2>&1 & exit' &); echo '{}'; read -r line`, []string{"child"}},
		{"forks below a session of its own, without environment", branded + `env -i setsid sh -c '(env -i setsid sh -c "echo \$\$ >grandchild; exec sleep 600" &) ; (sh -c "echo \$\$ >child; exec sleep 600" &); echo $$ >leader; sleep 600' &
			while [ ! -s leader ]; do sleep 0.02; done; echo '{}'; read -r line`, []string{"leader", "child", "grandchild"}},
		{"stopped", `sh -c 'echo $$ >child; kill -STOP $$' & echo $$ >cli; echo '{}'; while [ ! -s child ]; do sleep 0.02; done; kill -STOP $$`, []string{"cli", "child"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && strings.Contains(tt.name, "without environment") {
				t.Skip("without sessions of terminals, marks and brands it is not found here")
			}
			dir := t.TempDir()
			p := shell(t, dir, tt.script, nil)
			pids := pidsIn(t, dir, tt.files...)
			for err := error(nil); err == nil; { // to the end, or a while
				if _, err = p.Read(); err == nil {
					break
				}
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d lives on", pid)
				}
			}
		})
	}
}

// A process that forks and ends without end has a new id for each look; all of
// them are in one group.
func TestForksWithoutEnd(t *testing.T) {
	need(t, "sh", "setsid")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("echo >>trace\n[ ! -e end ] && sh run &\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(filepath.Join(dir, "end"), nil, 0o600) // should it have escaped
	p := shell(t, dir, `setsid sh run & echo '{}'; read -r line`, nil)
	grows := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "trace"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	waitFor(t, "it runs", func() bool { return grows() > 50 })
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	before := grows()
	time.Sleep(200 * time.Millisecond)
	if after := grows(); after != before {
		t.Errorf("it forked %d times more", after-before)
	}
}

// Kill does not let the process answer, and takes its children too.
func TestKill(t *testing.T) {
	need(t, "sh", "setsid", "sleep")
	dir := t.TempDir()
	p := shell(t, dir, `trap 'echo x >answered' EXIT TERM INT; setsid sh -c 'echo $$ >child; exec sleep 600' & echo '{}'; read -r line`, nil)
	pids := pidsIn(t, dir, "child")
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "answered")); !errors.Is(err, os.ErrNotExist) || alive(pids[0]) {
		t.Errorf("it got to act (%v), or its child lives: %v", err, alive(pids[0]))
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// misbehaving starts this binary as a program of its own.
func misbehaving(t *testing.T, change func(*cli.Command), args ...string) *cli.Process {
	t.Helper()
	c := cli.Command{Path: os.Args[0], Args: append([]string{"misbehave"}, args...), Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0"), Marker: t.Name()}
	if change != nil {
		change(&c)
	}
	p, err := cli.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop() })
	return p
}

// A CLI that never reads fails the write that does not fit; nothing waits for it.
func TestNeverReads(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	p := misbehaving(t, nil, "deaf")
	p.SetWriteTimeout(50 * time.Millisecond)
	if err := p.Write(big); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %v", err)
	}
	if err := p.Write(json.RawMessage(`{}`)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after a line was cut: %v", err)
	}
	waiting := misbehaving(t, nil, "deaf")
	waiting.SetWriteTimeout(time.Hour)
	written := make(chan error)
	go func() { written <- waiting.Write(big) }() // ends when Stop closes the pipe
	if err := waiting.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-written; err == nil {
		t.Error("a line that nobody read was written")
	}
}

// A hundred megabytes without a newline cost the reader the bound of a line.
func TestFloodWithoutANewline(t *testing.T) {
	out, err := exec.Command(os.Args[0], "misbehave", "flooded").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "well") {
		t.Errorf("%v: %s", err, out)
	}
}

const mayGrow = 64 << 20

func flooded() int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := cli.Start(cli.Command{Path: os.Args[0], Args: []string{"misbehave", "flood", fmt.Sprint(100 << 20)}, Env: os.Environ(), Marker: fmt.Sprint("flood-", os.Getpid())})
	if err == nil {
		for err == nil {
			_, err = p.Read()
		}
		p.Kill()
	}
	runtime.ReadMemStats(&after)
	grown := after.Sys - before.Sys // what was once had from the system counts
	if !errors.Is(err, cli.ErrLineTooLong) || grown > mayGrow {
		fmt.Printf("read: %v; grown by %d MB\n", err, grown>>20)
		return 1
	}
	fmt.Printf("well: grown by %d MB\n", grown>>20)
	return 0
}

// As much on stderr is drained, and its end is kept.
func TestFloodOfStderr(t *testing.T) {
	p := misbehaving(t, nil, "stderr", fmt.Sprint(100<<20))
	for {
		if _, err := p.Read(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	<-p.Done()
	if got := p.Stderr(); len(got) != cli.StderrKept || !strings.HasSuffix(got, "xthe end") {
		t.Errorf("kept %d bytes, the last ones %q", len(got), got[max(0, len(got)-20):])
	}
}
