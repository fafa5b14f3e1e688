package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
)

// Bounds of what is read of one process. The kernel allows an environment of six
// megabytes at most.
const (
	maxStat        = 4 << 10
	maxEnvironment = 8 << 20
)

// passes bounds how often the list of ids is taken anew for one table.
const passes = 5

// processes lists who lives. A process whose environment cannot be read, such as
// another user's, has no marks. Whoever was listed and then not found may have
// forked and ended in between, so the list is taken anew for those not seen yet;
// settled says that in the end nobody was missed like that.
func processes() (list []proc, settled bool, err error) {
	buf := make([]byte, maxStat)
	seen := make(map[int]bool)
	var env environ
	for range passes {
		ids, err := pids()
		if err != nil {
			return nil, false, err
		}
		vanished := false
		for _, pid := range ids {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			p, err := stat(pid, buf)
			if err == nil {
				p.marks, err = env.read(pid)
			}
			switch {
			case noFiles(err):
				return nil, false, err // else a sweep would take those not seen for dead
			case err == nil:
				if brand := lineage.BrandOf(pid); brand != 0 {
					p.marks = append(p.marks, brandMark(brand))
				}
				list = append(list, p)
			default:
				vanished = true
			}
		}
		if !vanished {
			return list, true, nil
		}
	}
	return list, false, nil
}

func pids() (list []int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	if err == nil && len(list) == 0 {
		err = errors.New("/proc shows none")
	}
	return list, err
}

var errDead = errors.New("dead")

// Fields of /proc/PID/stat after the name; see proc(5), less three.
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statSession = 3
	statThreads = 17
	statStart   = 19
)

// stat reads /proc/PID/stat; the fields follow the last ")" since names may hold
// anything. Of a dead process that nobody has waited for yet it returns errDead and
// all the same. One whose first thread is dead and others are not is alive, though
// it looks alike.
func stat(pid int, buf []byte) (proc, error) {
	n, err := readFile("/proc/"+strconv.Itoa(pid)+"/stat", buf)
	if err != nil {
		return proc{}, err
	}
	fields := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
	if len(fields) <= statStart {
		return proc{}, io.ErrUnexpectedEOF
	}
	number := func(i int) int {
		v, _ := strconv.Atoi(string(fields[i]))
		return v
	}
	if state := fields[statState][0]; (state == 'Z' || state == 'X') && number(statThreads) <= 1 {
		err = errDead
	}
	return proc{
		member: member{pid, string(fields[statStart])},
		parent: number(statParent), group: number(statGroup), session: number(statSession),
	}, err
}

// readFile fills buf; of a longer file it leaves out the rest.
func readFile(path string, buf []byte) (n int, err error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	for n < len(buf) {
		m, err := syscall.Read(fd, buf[n:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || m == 0 {
			return n, err
		}
		n += m
	}
	return n, nil
}

// environ is the environment of one process after the other.
type environ struct{ buf []byte }

// read returns the marks of a process; none when it may not be looked at. The
// error is that it is gone, or that no files are left.
func (e *environ) read(pid int) (marks []string, err error) {
	if e.buf == nil {
		e.buf = make([]byte, 64<<10)
	}
	for {
		n, err := readFile("/proc/"+strconv.Itoa(pid)+"/environ", e.buf)
		switch {
		case noFiles(err) || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH):
			return nil, err
		case err != nil:
			return nil, nil
		case n < len(e.buf) || n >= maxEnvironment:
			return marksIn(e.buf[:n]), nil
		}
		e.buf = make([]byte, 4*len(e.buf))
	}
}

// marksIn returns every entry that marks a session or a run; there can be several.
func marksIn(env []byte) (list []string) {
	for _, name := range [][]byte{[]byte(MarkerEnv + "="), []byte(RunEnv + "=")} {
		for rest := env; ; {
			at := bytes.Index(rest, name)
			if at < 0 {
				break
			}
			value, _, _ := bytes.Cut(rest[at:], []byte{0})
			if begin := len(env) - len(rest) + at; begin == 0 || env[begin-1] == 0 {
				list = append(list, string(value))
			}
			rest = rest[at+len(name):]
		}
	}
	return list
}

// startOf returns when a process started, in clock ticks since the machine did.
func startOf(pid int) (string, error) {
	p, err := stat(pid, make([]byte, maxStat))
	if errors.Is(err, errDead) {
		err = nil
	}
	return p.start, err
}

// bootID names the run of the machine and the namespace that pids count in. Where
// the system does not tell, nothing of an earlier run is ended.
var bootID = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	if err != nil || err2 != nil {
		return "unknown-" + newRun() // equals no other
	}
	return strings.TrimSpace(string(boot)) + " " + space
})

// kill ends a process that still is the member. The handle is taken before the
// look, so that the signal cannot reach another one.
func kill(m member) fate {
	p, err := os.FindProcess(m.pid)
	if err != nil {
		return gone
	}
	defer p.Release()
	if now, err := stat(m.pid, make([]byte, maxStat)); err != nil || now.member != m {
		return gone
	}
	if !sameUser(m.pid) {
		return foreign
	}
	switch err := p.Signal(syscall.SIGKILL); {
	case err == nil:
		return killed
	case errors.Is(err, syscall.EPERM):
		return foreign
	}
	return gone
}

// sameUser reports whether the process is this user's, also for root, who could
// end any: its real or saved id is ours.
func sameUser(pid int) bool {
	buf := make([]byte, maxStat)
	n, err := readFile("/proc/"+strconv.Itoa(pid)+"/status", buf)
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(buf[:n]), "\nUid:")
	line, _, _ := strings.Cut(rest, "\n")
	ids := strings.Fields(line) // real, effective, saved, of the file system
	ours := []string{strconv.Itoa(os.Getuid()), strconv.Itoa(os.Geteuid())}
	return len(ids) == 4 && (slices.Contains(ours, ids[0]) || slices.Contains(ours, ids[2]))
}
