// Package cli starts one CLI process, frames its stdio as JSON lines and stops
// it with everything it started.
//
// [Start] returns a [Process]; its owner reads it until an error, and calls
// [Process.Stop] when it is done. Three goroutines belong to a process: one
// waits for it to end, one drains stderr, one closes what a surviving child
// holds open; all end with the process.
package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Bounds of a process.
const (
	DefaultMaxLine = 16 << 20         // bytes of one line
	StderrKept     = 64 << 10         // newest bytes of stderr kept
	writeTimeout   = 10 * time.Second // a CLI that does not read for so long is broken
	drainAfterExit = time.Second      // how long output is read after the process ended
)

// ErrLineTooLong is returned by Read for a line over the bound.
var ErrLineTooLong = errors.New("line too long")

// MarkerEnv names the variable that marks every process of a session, so that
// one that left its group and its parent can still be found.
const MarkerEnv = "GATEHOUSE_SESSION"

// Command says what to start.
type Command struct {
	Path    string
	Args    []string // without the program name
	Dir     string
	Env     []string
	Marker  string // value of MarkerEnv; required
	MaxLine int    // 0 = DefaultMaxLine
	Stderr  Cover  // changes what is kept of stderr; nil: kept as it is

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
	cmd    *exec.Cmd
	marker string

	stdin   *os.File
	stdout  *os.File
	reader  *bufio.Reader
	maxLine int
	stderr  ring
	drained chan struct{} // closed when stderr was read to its end

	write     sync.Mutex
	closeOnce sync.Once
	stopOnce  sync.Once
	done      chan struct{} // closed when the process has ended
	stopped   chan struct{} // closed when Stop is through
	exit      error         // valid after done
}

// Start starts the program. The error names it.
func Start(c Command) (*Process, error) {
	p := &Process{
		marker: c.Marker, maxLine: c.MaxLine,
		done: make(chan struct{}), stopped: make(chan struct{}), drained: make(chan struct{}),
		stderr: ring{cover: c.Stderr},
	}
	if p.maxLine <= 0 {
		p.maxLine = DefaultMaxLine
	}
	p.cmd = exec.Command(c.Path, c.Args...)
	p.cmd.Dir = c.Dir
	p.cmd.Env = append(append([]string(nil), c.Env...), MarkerEnv+"="+c.Marker)
	setGroup(p.cmd)
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

func (p *Process) start() error {
	var files []*os.File
	undo := func(err error) error {
		for _, f := range files {
			f.Close()
		}
		return err
	}
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err := pipe()
	if err != nil {
		return undo(err)
	}
	outR, outW, err := pipe()
	if err != nil {
		return undo(err)
	}
	errR, errW, err := pipe()
	if err != nil {
		return undo(err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	if err := spawn(p.cmd); err != nil {
		return undo(err)
	}
	for _, f := range []*os.File{inR, outW, errW} {
		f.Close() // the child has its own
	}
	p.stdin, p.stdout = inW, outR
	p.reader = bufio.NewReaderSize(outR, 64<<10)
	go p.reap(errR)  // ends with the process
	go p.drain(errR) // ends at EOF, or when reap closes errR
	return nil
}

func (p *Process) drain(errR *os.File) {
	defer close(p.drained)
	io.Copy(&p.stderr, errR)
	p.stderr.close()
}

// reap waits for the process itself, not for EOF: a child may hold the pipes.
func (p *Process) reap(errR *os.File) {
	p.exit = p.cmd.Wait()
	deadline := time.Now().Add(drainAfterExit)
	p.stdout.SetReadDeadline(deadline)
	errR.SetReadDeadline(deadline)
	p.CloseStdin()
	close(p.done)
	time.Sleep(drainAfterExit)
	errR.Close()
}

// Read returns the next line without its newline; empty lines are skipped. It
// fails with io.EOF at the end of output, ErrLineTooLong for a line over the bound.
func (p *Process) Read() (json.RawMessage, error) {
	for {
		line, err := p.line()
		if err != nil {
			return nil, err
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

func (p *Process) line() ([]byte, error) {
	var line []byte
	for {
		part, err := p.reader.ReadSlice('\n')
		if len(line)+len(part) > p.maxLine {
			return nil, fmt.Errorf("read from CLI: %w: over %d bytes", ErrLineTooLong, p.maxLine)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return trim(line), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(trim(line)) > 0 && errors.Is(err, io.EOF):
			return trim(line), nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, io.EOF // the process has ended; a child kept the pipe
		default:
			return nil, err
		}
	}
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// Write sends one line. It gives up after ten seconds without a reader.
func (p *Process) Write(line json.RawMessage) error {
	p.write.Lock()
	defer p.write.Unlock()
	p.stdin.SetWriteDeadline(time.Now().Add(writeTimeout)) // not on every platform; then a write can wait until Stop
	if _, err := p.stdin.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		p.CloseStdin() // a line was cut: nothing may follow it, and later writes fail at once
		return fmt.Errorf("write to CLI: %w", err)
	}
	return nil
}

// CloseStdin tells the CLI that no more messages come.
func (p *Process) CloseStdin() { p.closeOnce.Do(func() { p.stdin.Close() }) }

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

// Stderr returns the newest bytes of stderr that [Command].Stderr left, at most
// StderrKept. Of a process that has ended it waits for the last ones.
func (p *Process) Stderr() string {
	select {
	case <-p.done:
		<-p.drained // a second at most, see reap
	default:
	}
	return strings.TrimSpace(strings.ToValidUTF8(p.stderr.String(), "\uFFFD"))
}

// ring keeps the newest StderrKept bytes written to it, as its cover leaves them.
type ring struct {
	cover Cover // for the goroutine that writes

	mu  sync.Mutex
	buf []byte
}

func (r *ring) Write(b []byte) (int, error) {
	if r.cover == nil {
		r.keep(b)
	} else {
		r.keep([]byte(r.cover.Write(string(b))))
	}
	return len(b), nil
}

func (r *ring) close() {
	if r.cover != nil {
		r.keep([]byte(r.cover.Close()))
	}
}

func (r *ring) keep(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, b...)
	if over := len(r.buf) - StderrKept; over > 0 {
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
}

func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf)
}
