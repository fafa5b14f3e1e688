//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package guard

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain lets the test binary be the server under the name gatehouse; the
// guard is there before TestMain is.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gatehouse" {
		os.Exit(server(os.Args))
	}
	os.Exit(testleak.Run(m))
}

// server stands in for a server. It says what it is in one line and then does
// what its arguments say:
//
//	exit CODE        end
//	die SIGNAL       end itself by a signal
//	trees N MARK     start N trees of processes, then wait as below
//	leave N MARK     start them and end
//	wait             wait for a signal, which it names, or the end of input
//	quiet            close standard output, then wait
//	problem          say why there is no guard
//	tell PATH        tell the guard of a registry, then end
func server(args []string) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	_, leaked := os.LookupEnv(Variable)
	fmt.Printf("server %d parent %d group %d leaked %v\n", os.Getpid(), os.Getppid(), syscall.Getpgrp(), leaked)
	if len(args) < 3 {
		return 0
	}
	switch args[2] {
	case "exit":
		code, _ := strconv.Atoi(args[3])
		return code
	case "die":
		n, _ := strconv.Atoi(args[3])
		signal.Reset(syscall.Signal(n))
		syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	case "trees", "leave":
		n, _ := strconv.Atoi(args[3])
		plant(n, args[4])
		if args[2] == "leave" {
			return 0
		}
	case "quiet":
		os.Stdout.Close()
	case "problem":
		fmt.Println(Problem())
		return 0
	case "tell":
		if err := TellRegistry(args[3]); err != nil {
			fmt.Println(err)
		}
		return 0
	}
	return serveUntil(signals)
}

func serveUntil(signals <-chan os.Signal) int {
	input := make(chan string)
	go func() { // ends with the process
		for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
			input <- scan.Text()
		}
		close(input)
	}()
	for {
		select {
		case s := <-signals:
			fmt.Println("got", s)
			if s == syscall.SIGTERM {
				return 0
			}
		case line, ok := <-input:
			if !ok {
				fmt.Println("end of input")
				return 0
			}
			fmt.Println("read", line)
		}
	}
}

// plant starts trees as a CLI and its commands form them: one process that dies
// with the server, one in a session of its own, one that lost its parent, and one
// that did all of it and cleared its environment.
func plant(n int, mark string) {
	script := `setsid sleep ` + mark + ` & (sleep ` + mark + ` &) ; (env -i setsid sleep ` + mark + ` &) ; exec sleep ` + mark
	for range n {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
	}
}

const perTree = 4 // processes that bear the mark

// guarded is a server under a guard.
type guarded struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr strings.Builder

	server, parent, group int
	leaked                bool
}

// program returns the path under which the test binary is the server.
func testProgram(t testing.TB) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "gatehouse")
	if err := os.Symlink(own, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func command(t testing.TB, args ...string) *exec.Cmd {
	cmd := exec.Command(testProgram(t), args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// startGuarded starts cmd and reads what the server says of itself.
func startGuarded(t testing.TB, cmd *exec.Cmd) *guarded {
	t.Helper()
	g := &guarded{t: t, cmd: cmd}
	var err error
	if g.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.out = bufio.NewReader(out)
	cmd.Stderr = &g.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line := g.line()
	if _, err := fmt.Sscanf(line, "server %d parent %d group %d leaked %t", &g.server, &g.parent, &g.group, &g.leaked); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return g
}

// line is the next line of the server, "" at the end.
func (g *guarded) line() string {
	line, _ := g.out.ReadString('\n')
	return strings.TrimSuffix(line, "\n")
}

// code waits for the guard.
func (g *guarded) code() int {
	g.t.Helper()
	io.Copy(io.Discard, g.out)
	g.cmd.Wait()
	return g.cmd.ProcessState.ExitCode()
}
