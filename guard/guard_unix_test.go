//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package guard

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestIsServer(t *testing.T) {
	for _, tt := range []struct {
		line     string
		terminal bool
		want     bool
		wrong    string
	}{
		{"gatehouse serve", false, true, ""},
		{"gatehouse serve", true, true, ""},
		{"/opt/bin/other serve --cwd /x", false, true, ""},
		{"gatehouse run fix it", true, true, ""},
		{"gatehouse run", false, true, ""},
		{"gatehouse", false, true, ""},
		{"/usr/bin/gatehouse-1.2", false, true, ""},
		{"gatehouse", true, false, ""},
		{"other", false, false, "start it as other serve"},
		{"other", true, false, ""},
		{"gatehouse serve -h", false, false, ""},
		{"gatehouse run --help", true, false, ""},
		{"gatehouse run -help", true, false, ""},
		{"gatehouse serve -h x", false, true, ""},
		{"gatehouse help", false, false, ""},
		{"gatehouse mpm-session-server", false, true, ""},
		{"gatehouse mpm-session-server --max-concurrent 3", true, true, ""},
		{"gatehouse mpm-session-server --help", false, false, ""},
		{"/usr/bin/mpm-session-server", false, true, ""},
		{"/usr/bin/mpm-session-server", true, true, ""},
		{"mpm-session-server --max-concurrent 3", false, true, ""},
		{"mpm-session-server --help", false, false, ""},
		{"/usr/bin/mpm-session-server.exe --max-concurrent 3", false, true, ""},
		{"mpm-session-server scripted-cli --scenario-builtin demo", false, false, ""},
		{"mpm-session-servers", false, false, "start it as mpm-session-servers serve"},
		{"gatehouse --help", false, false, ""},
		{"gatehouse check serve", false, false, ""},
		{"gatehouse -serve", false, false, ""},
		{"gatehouse policy run", false, false, ""},
		{"/tmp/gatehouse.test", false, false, ""},
		{"/tmp/gatehouse.test serve", false, false, ""},
		{"", false, false, ""},
	} {
		got, err := isServer(strings.Fields(tt.line), tt.terminal)
		if got != tt.want || (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%q, terminal %v: %v, %v; want %v, %q", tt.line, tt.terminal, got, err, tt.want, tt.wrong)
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"success", []string{"serve", "exit", "0"}, 0, ""},
		{"failure", []string{"serve", "exit", "3"}, 3, ""},
		{"run", []string{"run", "exit", "130"}, 130, ""},
		{"no arguments", nil, 0, ""},
		{"killed", []string{"serve", "die", "9"}, 137, "gatehouse: the server was ended by a signal (killed); 0 processes that were left of its sessions were ended\n"},
		{"terminated", []string{"serve", "die", "15"}, 143, "ended by a signal (terminated)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t, command(t, tt.args...))
			code := g.code()
			if g.parent != g.cmd.Process.Pid || g.server == g.cmd.Process.Pid {
				t.Errorf("server %d with parent %d under a guard %d", g.server, g.parent, g.cmd.Process.Pid)
			}
			if code != tt.code || !strings.Contains(g.stderr.String(), tt.stderr) || tt.stderr == "" && g.stderr.Len() > 0 {
				t.Errorf("code %d, stderr %q; want %d, %q", code, &g.stderr, tt.code, tt.stderr)
			}
		})
	}
}

// A command line that starts no server gets no guard.
func TestNoGuard(t *testing.T) {
	for _, args := range [][]string{{"serve", "-h"}, {"version", "exit", "0"}} {
		g := startGuarded(t, command(t, args...))
		g.in.Close()
		if g.code(); g.server != g.cmd.Process.Pid {
			t.Errorf("%q: process %d started %d", args, g.cmd.Process.Pid, g.server)
		}
	}
}

// The variable counts only when the parent is the guard, and goes in any case.
func TestVariable(t *testing.T) {
	for _, value := range []string{"", "x", "1:3", fmt.Sprintf("%d:3", os.Getpid()+1), fmt.Sprintf("%d", os.Getpid())} {
		cmd := command(t, "serve", "exit", "0")
		cmd.Env = append(cmd.Env, Variable+"="+value)
		g := startGuarded(t, cmd)
		if g.code(); g.leaked || g.parent != cmd.Process.Pid {
			t.Errorf("with %q inherited: leaked %v, parent %d of guard %d", value, g.leaked, g.parent, cmd.Process.Pid)
		}
	}
}

func TestForwardedSignals(t *testing.T) {
	g := startGuarded(t, command(t, "serve", "wait"))
	if g.group != g.server {
		t.Errorf("the server %d is in group %d", g.server, g.group)
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		g.cmd.Process.Signal(s)
		if got, want := g.line(), fmt.Sprint("got ", s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if code := g.code(); code != 0 || g.stderr.Len() > 0 {
		t.Errorf("code %d, stderr %q", code, &g.stderr)
	}
}

// SIGINT that was ignored when the guard started, as in the background of a shell,
// stays so.
func TestIgnoredSignal(t *testing.T) {
	cmd := command(t)
	g := startGuarded(t, exec.Command("sh", "-c", `trap "" INT; exec "$0" serve wait`, cmd.Path))
	g.cmd.Process.Signal(syscall.SIGINT)
	io.WriteString(g.in, "hello\n")
	if got := g.line(); got != "read hello" {
		t.Errorf("%q", got)
	}
	g.in.Close()
	if code := g.code(); code != 0 {
		t.Errorf("code %d", code)
	}
}

// Under nohup SIGHUP still tells a server to read its files again.
func TestHangupUnderNohup(t *testing.T) {
	cmd := command(t)
	g := startGuarded(t, exec.Command("sh", "-c", `trap "" HUP; exec "$0" serve wait`, cmd.Path))
	g.cmd.Process.Signal(syscall.SIGHUP)
	if got := g.line(); got != "got hangup" {
		t.Errorf("%q", got)
	}
	g.in.Close()
	g.code()
}

// The guard holds neither end of the client's streams open.
func TestStreams(t *testing.T) {
	g := startGuarded(t, command(t, "serve", "quiet"))
	if rest, err := io.ReadAll(g.out); err != nil || len(rest) > 0 {
		t.Errorf("after the server closed its output: %q, %v", rest, err)
	}
	g.in.Close()
	if code := g.code(); code != 0 {
		t.Errorf("code %d", code)
	}
}

// When the guard is killed, alone or with its group, the server is told to end.
func TestKilledGuard(t *testing.T) {
	for _, tt := range []struct {
		name string
		pid  int // as a factor
	}{{"alone", 1}, {"with its group", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := command(t, "serve", "wait")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			g := startGuarded(t, cmd)
			syscall.Kill(tt.pid*cmd.Process.Pid, syscall.SIGKILL)
			if got := g.line(); got != "got terminated" {
				t.Errorf("the server says %q", got)
			}
			if rest, err := io.ReadAll(g.out); err != nil || strings.Contains(string(rest), "read") {
				t.Errorf("then %q, %v", rest, err)
			}
		})
	}
}

// What the server told of its registry arrives, also when it ends at once.
func TestRegistryLine(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	guards = os.NewFile(uintptr(pair[1]), "guard")
	defer func() { guards = nil }()
	if err := TellRegistry("/some folder/processes.jsonl"); err != nil {
		t.Fatal(err)
	}
	guards.Close()
	if got := registry(pair[0]); got != "/some folder/processes.jsonl" {
		t.Errorf("%q", got)
	}
	if err := TellRegistry("late"); err == nil {
		t.Error("a guard that is gone was told")
	}
	guards = nil
	if err := TellRegistry("none"); err != nil {
		t.Errorf("without a guard: %v", err)
	}
}

// A guard that cannot be set up is missed, not insisted on.
func TestProblem(t *testing.T) {
	cmd := command(t)
	g := startGuarded(t, exec.Command("sh", "-c", `ulimit -n 4; exec "$0" serve problem`, cmd.Path))
	text := g.line()
	if code := g.code(); code != 0 || g.server != g.cmd.Process.Pid || !strings.Contains(text, "guard: line to the server: ") {
		t.Errorf("code %d, server %d of %d, problem %q", code, g.server, g.cmd.Process.Pid, text)
	}
}
