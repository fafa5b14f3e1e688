//go:build unix && !linux

package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// There is no parent-death signal here.
func setParentDeath(*syscall.SysProcAttr) {}

func spawn(f func()) { f() }

// tree is unused here: a group is all there is.
type tree struct{}

func (p *Process) adopt() error   { return nil }
func (p *Process) awaitEnd() bool { return false } // one thread waits for each process
func (p *Process) close()         {}

// Bounds of a run of ps, and of a line of it: arguments and environment together
// have a megabyte at most on macOS.
const (
	psFor   = 5 * time.Second
	maxLine = 4 << 20
)

// processes lists who lives, as ps tells it. Starts are told in whole seconds.
//
// Limits: ps shows the environment, and so the marks, of this user's processes
// only; macOS hides that of its own programs (sh, sleep) and of hardened ones, and
// Solaris, illumos and AIX show none. There such a process is found by parent links
// and its group; once it left both, nothing finds it. An argument that equals a
// mark is taken for one.
func processes() (list []proc, settled bool, err error) {
	raw, err := ps(psEnvironment(), "-axww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command=")
	if err != nil {
		return nil, false, err
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if p, ok := parsePS(lines.Text()); ok {
			list = append(list, p)
		}
	}
	return list, true, lines.Err()
}

// psEnvironment is the option that adds the environment to the command.
func psEnvironment() string {
	switch runtime.GOOS {
	case "darwin", "ios":
		return "-E"
	case "freebsd", "netbsd", "openbsd", "dragonfly":
		return "-e"
	}
	return ""
}

func ps(environment string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), psFor)
	defer cancel()
	if environment != "" {
		args = append([]string{environment}, args...)
	}
	cmd := exec.CommandContext(ctx, "/bin/ps", args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/bin:/usr/bin"}
	return cmd.Output()
}

// fieldsBefore is pid, ppid, pgid, stat and the five words of lstart.
const fieldsBefore = 9

func parsePS(line string) (proc, bool) {
	f := strings.Fields(line)
	if len(f) < fieldsBefore {
		return proc{}, false
	}
	pid, err := strconv.Atoi(f[0])
	parent, err2 := strconv.Atoi(f[1])
	group, err3 := strconv.Atoi(f[2])
	if err != nil || err2 != nil || err3 != nil || strings.HasPrefix(f[3], "Z") {
		return proc{}, false
	}
	p := proc{member: member{pid, strings.Join(f[4:fieldsBefore], " ")}, parent: parent, group: group}
	for _, word := range f[fieldsBefore:] {
		if strings.HasPrefix(word, MarkerEnv+"=") || strings.HasPrefix(word, RunEnv+"=") {
			p.marks = append(p.marks, word)
		}
	}
	return p, true
}

// startOf returns when a process started, in whole seconds.
func startOf(pid int) (string, error) {
	out, err := ps("", "-o", "lstart=", "-p", strconv.Itoa(pid))
	if err != nil {
		return "", fmt.Errorf("ps: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// kill ends a process that was the member a moment ago, when the table was taken:
// another look would not come closer to the signal, and costs a run of ps.
func kill(m member) fate {
	if m.pid <= 1 || m.pid == os.Getpid() {
		return foreign
	}
	switch err := syscall.Kill(m.pid, syscall.SIGKILL); err {
	case nil:
		return killed
	case syscall.EPERM:
		return foreign
	}
	return gone
}
