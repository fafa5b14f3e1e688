package lineage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Bounds of a walk up. One that is longer, or cannot be finished because processes
// above come and go, tells nothing.
const (
	maxDepth = 4096
	maxTries = 50
)

// Of reports whether a process belongs to a session, and to which, where that shows.
// Insiders are processes below which nothing else lives, such as a server and its
// guard. The error is ErrUnclear, or that there is no such process.
func Of(pid int, insiders ...int) (session string, belongs bool, err error) {
	return retried(walk{from: pid, insiders: insiders})
}

// Above is Of for this process, whose own guard, 0 for none, does not count.
func Above(guard int) (session string, belongs bool, err error) {
	return retried(walk{from: os.Getpid(), own: guard})
}

func retried(w walk) (session string, belongs bool, err error) {
	for range maxTries {
		if session, belongs, err = w.up(); !errors.Is(err, errMoved) {
			return session, belongs, err
		}
	}
	return "", false, fmt.Errorf("process %d: %w", w.from, ErrUnclear)
}

// walk goes from a process to its parent and so on.
type walk struct {
	from     int
	insiders []int
	own      int // a guard that is none of a session; 0: none
}

// errMoved says that a process ended or got another parent during a walk.
var errMoved = errors.New("a process above has changed")

func (w walk) up() (session string, belongs bool, err error) {
	at, err := look(w.from)
	if err != nil {
		return "", false, fmt.Errorf("process %d: %w", w.from, err)
	}
	belongs = BrandOf(w.from) != 0
	for range maxDepth {
		id, marked := mark(at.pid)
		if marked && session == "" {
			session = id
		}
		if marked || at.name == GuardName && at.pid != w.own || at.pid != w.from && slices.Contains(w.insiders, at.pid) {
			belongs = true
		}
		next, err := at.above()
		switch {
		case err != nil:
			return session, belongs, known(belongs, err)
		case next == nil:
			return session, belongs, nil
		}
		at = *next
	}
	return session, belongs, known(belongs, ErrUnclear)
}

// known leaves out an error of a walk that knows enough.
func known(belongs bool, err error) error {
	if belongs {
		return nil
	}
	return err
}

// process is what is seen of one.
type process struct {
	pid, parent int
	name        string
}

// above is the parent, nil when there is none to be seen: the first process, one of
// another space of ids, one of another user where the system hides those. That it
// still is the parent is looked at afterwards, since ids are used again.
func (p process) above() (*process, error) {
	if p.parent <= 0 {
		return nil, nil
	}
	next, err := look(p.parent)
	now, err2 := look(p.pid)
	if err2 != nil || now.parent != p.parent {
		return nil, errMoved
	}
	if err == nil {
		return &next, nil
	}
	switch syscall.Kill(p.parent, 0) {
	case nil:
		return nil, fmt.Errorf("process %d hides: %w", p.parent, ErrUnclear)
	case syscall.EPERM:
		return nil, nil
	}
	return nil, errMoved
}

// look reads /proc/PID/stat; the fields follow the last ")", since a name may hold
// anything.
func look(pid int) (process, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	begin, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if begin < 0 || end < begin {
		return process{}, errors.New("its state cannot be read")
	}
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 2 {
		return process{}, errors.New("its state cannot be read")
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid, parent, string(raw[begin+1 : end])}, err
}

// mark reads a session's id out of a process's environment, which one that hides
// does not show.
func mark(pid int) (session string, marked bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if name, value, ok := strings.Cut(string(v), "="); ok && name == Marker {
			return value, true
		}
	}
	return "", false
}
