package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// shell starts a shell script as the CLI; its folder is where it may leave files.
func shell(t testing.TB, dir, text string, change func(*cli.Command)) *cli.Process {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("the misbehaving programs are shell scripts")
	}
	c := cli.Command{Path: sh, Args: []string{"-c", text}, Dir: dir, Env: os.Environ(), Marker: "test-" + filepath.Base(filepath.Dir(dir)) + "-" + filepath.Base(dir)}
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

// need skips where a program the scripts use is missing.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s", name)
		}
	}
}

// pidsIn waits until each of the files holds a process id, and returns them.
func pidsIn(t testing.TB, dir string, names ...string) (list []int) {
	t.Helper()
	for _, name := range names {
		var pid int
		waitFor(t, name, func() bool {
			raw, _ := os.ReadFile(filepath.Join(dir, name))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
			return pid > 0 && strings.HasSuffix(string(raw), "\n")
		})
		list = append(list, pid)
	}
	return list
}

func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a minute is over: %s", what)
		}
	}
}

func mustDie(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		waitFor(t, fmt.Sprintf("process %d lives on", pid), func() bool { return !alive(pid) })
	}
}

// helper runs this test binary as a program that misbehaves.
func helper(args []string) int {
	switch args[0] {
	case "deaf": // never reads stdin
		fmt.Println(`{"up":true}`)
		time.Sleep(time.Hour)
	case "flood": // bytes without a newline
		fmt.Println(`{"up":true}`)
		n, _ := strconv.Atoi(args[1])
		out := bufio.NewWriterSize(os.Stdout, 1<<20)
		io.CopyN(out, endless{}, int64(n))
		out.Flush()
		time.Sleep(time.Hour)
	case "stderr": // bytes on stderr
		n, _ := strconv.Atoi(args[1])
		io.CopyN(os.Stderr, endless{}, int64(n))
		fmt.Fprint(os.Stderr, "the end")
		fmt.Println(`{"up":true}`)
	case "flooded":
		return flooded()
	case "crashing":
		return crashing(args[1])
	case "reaper":
		return reaper(args[1])
	case "guard":
		return guarding(args[1])
	case "guarded":
		return guarded(args[1])
	case "few-files":
		return fewFiles()
	case "on-terminal":
		return onTerminal()
	}
	return 0
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
