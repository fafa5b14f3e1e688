package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// ErrLineTooLong is returned by Read for a line over the bound.
var ErrLineTooLong = errors.New("line too long")

// reap waits for the process itself, not for EOF: a child may hold the pipes.
func (p *Process) reap(errR *os.File) {
	p.wait()
	p.begun()
	deadline := time.Now().Add(drainAfterExit)
	p.stdout.SetReadDeadline(deadline)
	errR.SetReadDeadline(deadline)
	go p.CloseStdin() // where writes have no deadline it waits for one under way
	close(p.done)
	time.Sleep(drainAfterExit)
	errR.Close()
}

func (p *Process) drain(errR *os.File) {
	defer close(p.drained)
	buf := make([]byte, 4<<10)
	for {
		n, err := errR.Read(buf)
		p.stderr.Write(buf[:n])
		if err != nil {
			break
		}
	}
	p.stderr.close()
}

// Read returns the next line without its newline; empty lines are skipped. It
// fails with io.EOF at the end of output, ErrLineTooLong for a line over the bound.
func (p *Process) Read() (json.RawMessage, error) {
	for {
		line, err := p.line()
		if err != nil {
			return nil, err
		}
		p.begun()
		if len(line) > 0 {
			return line, nil
		}
	}
}

func (p *Process) line() ([]byte, error) {
	var l line
	for {
		part, err := p.reader.ReadSlice('\n')
		if l.size+len(part) > p.maxLine {
			return nil, fmt.Errorf("read from CLI: %w: over %d bytes", ErrLineTooLong, p.maxLine)
		}
		l.add(part)
		switch {
		case err == nil:
			return trim(l.whole()), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case l.size > 0 && errors.Is(err, io.EOF):
			return trim(l.whole()), nil // the next call tells of the end
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, io.EOF // the process has ended; a child kept the pipe
		default:
			return nil, err
		}
	}
}

// linePiece bounds the pieces a long line is collected in: one that grew as a
// whole would be copied again and again, and cost several times its length.
const linePiece = 256 << 10

// line is a line that arrives in parts.
type line struct {
	pieces [][]byte
	size   int
}

func (l *line) add(part []byte) {
	l.size += len(part)
	last := len(l.pieces) - 1
	if last < 0 || len(l.pieces[last])+len(part) > linePiece {
		l.pieces = append(l.pieces, nil)
		last++
	}
	l.pieces[last] = append(l.pieces[last], part...)
}

func (l *line) whole() []byte {
	if len(l.pieces) == 1 {
		return l.pieces[0]
	}
	return bytes.Join(l.pieces, nil)
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
	p.stdin.SetWriteDeadline(time.Now().Add(p.writeTimeout)) // not on every platform; then a write can wait until Stop
	if _, err := p.stdin.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		p.CloseStdin() // a line was cut: nothing may follow it, and later writes fail at once
		return fmt.Errorf("write to CLI: %w", err)
	}
	return nil
}

// CloseStdin tells the CLI that no more messages come.
func (p *Process) CloseStdin() { p.closeOnce.Do(func() { p.stdin.Close() }) }

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
	buf []byte // at most twice as long, so that not every write moves it
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
	b = b[max(0, len(b)-StderrKept):]
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.buf)+len(b) > 2*StderrKept {
		r.buf = append(r.buf[:0], r.newest()...)
	}
	r.buf = append(r.buf, b...)
}

func (r *ring) newest() []byte { return r.buf[max(0, len(r.buf)-StderrKept):] }

func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.newest())
}
