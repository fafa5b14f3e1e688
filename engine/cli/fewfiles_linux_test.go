package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// With 64 open files starts fail by name once they are used up, what runs can be
// stopped all the same, and then there is room again.
func TestSixtyFourFiles(t *testing.T) {
	need(t, "sh")
	cmd := exec.Command(os.Args[0], "misbehave", "few-files")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all is well") {
		t.Fatalf("%v: %s", err, out)
	}
}

func fewFiles() int {
	if err := lowerAndFill(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("all is well")
	return 0
}

func lowerAndFill() error {
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if n := cli.MaxProcesses(); n != 1 {
		return fmt.Errorf("MaxProcesses is %d under 64 files, want 1", n)
	}
	for round := range 3 {
		running, err := fill()
		if !errors.Is(err, cli.ErrLimit) || !strings.Contains(err.Error(), "all 64 open files are in use") {
			return fmt.Errorf("round %d: start with no files left: %v", round, err)
		}
		if len(running) < 5 {
			return fmt.Errorf("round %d: only %d started", round, len(running))
		}
		for _, p := range running {
			if err := p.Stop(); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			if p.Exit() != "exit status 0" {
				return fmt.Errorf("round %d: a process ended by %s", round, p.Exit())
			}
		}
	}
	return nil
}

// fill starts processes until one cannot be started.
func fill() (running []*cli.Process, err error) {
	for range 64 {
		p, err := cli.Start(cli.Command{Path: "/bin/sh", Args: []string{"-c", `echo up; read -r line; exit 0`}, Marker: fmt.Sprint("few-", len(running))})
		if err != nil {
			return running, err
		}
		if _, err := p.Read(); err != nil {
			return running, err
		}
		running = append(running, p)
	}
	return running, errors.New("64 processes run with 64 files")
}
