// Package cli starts CLI processes, frames their stdio as JSON lines and stops
// each with everything it started.
//
// [StartContext] returns a [Process]; its owner reads it until an error, and calls
// [Process.Stop] when it is done. Two goroutines belong to a process: one waits
// for it to end and closes what a surviving child holds open, one drains stderr;
// both end with the process.
//
// [Sweep] ends what a server that crashed left behind, as a [Registry] tells it,
// and [SweepDescendants] what was handed to a sub-reaper.
//
// What is found of a session differs. On Linux: everything below its process by
// parent links, groups and sessions of terminals, and everything that kept its
// environment or the brand of its start (package lineage). What lost all of that
// before a stop looked falls to the guard, and is ended when no process is left that
// it could belong to, see [UnderGuard]. On Windows a Job Object holds all. On macOS
// and BSD there is neither: see processes in proc_bsd.go.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
)

// Bounds of a process.
const (
	DefaultMaxLine = 16 << 20         // bytes of one line
	StderrKept     = 64 << 10         // newest bytes of stderr kept
	readBuffer     = 4 << 10          // bytes read of stdout at once
	writeTimeout   = 10 * time.Second // a CLI that does not read for so long is broken
	drainAfterExit = time.Second      // how long output is read after the process ended
)

// MarkerEnv names the variable that marks every process of a session, so that
// one that left its group and its parent can still be found.
const MarkerEnv = lineage.Marker

// Command says what to start.
type Command struct {
	Path    string
	Args    []string // without the program name
	Dir     string
	Env     []string
	Marker  string // value of MarkerEnv; required
	MaxLine int    // 0 = DefaultMaxLine
	Stderr  Cover  // changes what is kept of stderr; nil: kept as it is

	NoTerminal bool // it cannot open the terminal of this program: /dev/tty, or the console, is none for it

	Registry *Registry // told of the process before Start returns; nil: none
}

// Cover changes a text that arrives in pieces before it is kept. It is used by one
// goroutine.
type Cover interface {
	Write(piece string) (kept string)
	Close() (rest string)
}

// Process is a running CLI. Read is for one goroutine; all else may be called from any.
type Process struct {
	cmd      *exec.Cmd
	family   *family // for start, then for the one goroutine that stops
	entry    Entry
	registry *Registry
	tree     tree // what this system keeps of a process and its children

	stdin   *os.File
	stdout  *os.File
	reader  *bufio.Reader
	maxLine int
	stderr  ring
	drained chan struct{} // closed when stderr was read to its end

	begun        func() // gives the place in the start queue back; more than once is fine
	leave        func() // of the household; the same
	write        sync.Mutex
	writeTimeout time.Duration
	closeOnce    sync.Once
	stopOnce     sync.Once
	hurryOnce    sync.Once
	hurry        chan struct{} // closed: a stop skips what is slow
	done         chan struct{} // closed when the process has ended
	stopped      chan struct{} // closed when Stop is through
	left         error         // valid after stopped

	life   sync.Mutex // held to signal the group, and to reap
	reaped bool       // the process's id and its group's may mean another
}

// Start is [StartContext] without a context.
func Start(c Command) (*Process, error) { return StartContext(context.Background(), c) }

// StartContext starts the program. Starts wait in line, first come, first served:
// at most two for each core are between their start and the first output, or their
// fifth second. ctx ends the wait and not the process. The error names the program;
// it is [ErrLimit] where too many wait or the system has no files or processes left.
// A process that cannot be registered is ended, and that is an error.
func StartContext(ctx context.Context, c Command) (*Process, error) {
	p, err := startQueued(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, explained(err))
	}
	return p, nil
}

func startQueued(ctx context.Context, c Command) (*Process, error) {
	leave, err := starts.enter(ctx)
	if err != nil {
		return nil, err
	}
	p := newProcess(c)
	hold := time.AfterFunc(startHold, leave)
	p.begun = func() {
		hold.Stop()
		leave()
	}
	p.leave = home.enter()
	errR, err := p.start()
	if err != nil {
		p.begun()
		p.leave()
		return nil, err
	}
	if err := p.registry.add(p.entry); err != nil {
		p.registry = nil
		return nil, errors.Join(fmt.Errorf("ended again, since it could not be noted: %w", err), p.discard(errR))
	}
	go p.reap(errR)  // ends a second after the process
	go p.drain(errR) // ends at EOF, or when reap closes errR
	return p, nil
}

func newProcess(c Command) *Process {
	run := newRun()
	marks := []string{MarkerEnv + "=" + c.Marker, RunEnv + "=" + run}
	p := &Process{
		maxLine: c.MaxLine, registry: c.Registry, writeTimeout: writeTimeout,
		done: make(chan struct{}), stopped: make(chan struct{}), drained: make(chan struct{}), hurry: make(chan struct{}),
		stderr: ring{cover: c.Stderr},
		entry:  Entry{Boot: bootID(), Session: c.Marker, Run: run},
		family: &family{marks: append(slices.Clip(marks), brandMark(lineage.Brand(run)))},
	}
	if p.maxLine <= 0 {
		p.maxLine = DefaultMaxLine
	}
	p.cmd = exec.Command(c.Path, c.Args...)
	p.cmd.Dir = c.Dir
	p.cmd.Env = append(append([]string(nil), c.Env...), marks...)
	prepare(p.cmd, c.NoTerminal)
	return p
}

// start starts the program and learns who it is; on an error nothing is left.
func (p *Process) start() (errR *os.File, err error) {
	spawn(func() { errR, err = p.launch() })
	if err != nil {
		return nil, err
	}
	p.reader = bufio.NewReaderSize(p.stdout, readBuffer)
	pid := p.PID()
	begun, err := startOf(pid)
	p.family.root = member{pid, begun}
	p.entry.PID, p.entry.Start, p.entry.Group = pid, begun, pid
	if err == nil {
		err = p.adopt()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look at process %d: %w", pid, err), p.discard(errR))
	}
	return errR, nil
}

// launch makes the pipes and the process. It runs in the spawner, so that the
// ends of one start only are open twice.
func (p *Process) launch() (errR *os.File, err error) {
	var ends [6]*os.File // a reader and a writer for each of the three
	closeAll := func(files []*os.File) {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < len(ends) && err == nil; i += 2 {
		ends[i], ends[i+1], err = os.Pipe()
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[3], ends[5]
		if err = p.cmd.Start(); err == nil {
			p.mark() // at once: what it starts before is not branded
		}
	}
	if err != nil {
		closeAll(ends[:])
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = nil, nil, nil
	p.cmd.Args, p.cmd.Env = nil, nil                // some KiB, which nobody needs any more
	closeAll([]*os.File{ends[0], ends[3], ends[5]}) // the child has its own
	p.stdin, p.stdout = ends[1], ends[2]
	return ends[4], nil
}

// discard ends a process that nobody got to know.
func (p *Process) discard(errR *os.File) error {
	go p.reap(errR)
	go p.drain(errR)
	return p.Kill()
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended, whatever its children do.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended, "" while it runs.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}
