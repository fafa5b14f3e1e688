package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// lastWords bounds how long is waited for the end of a program that closed its output.
const lastWords = 3 * time.Second

// patience is how long a program may not read what it is sent; see cli.Process.Write.
const patience = 11 * time.Second

var errHungUp = errors.New("the connection was closed by this side")

// program is a server that runs as a process of ours: an mcp.Transport and its
// connection, for one client.
type program struct {
	process *cli.Process
	intake  *intake
	folder  string          // to be removed; empty: none
	rushed  <-chan struct{} // see Server

	messages chan jsonrpc.Message // closed when no more come
	failure  error                // then
	closed   chan struct{}
	once     sync.Once
}

// run starts a program. Its environment is all of env.
func (s *Server) run(ctx context.Context, env []string, c *cover, logger *slog.Logger) (t *program, err error) {
	t = &program{rushed: s.rushed, intake: newIntake(c, logger), messages: make(chan jsonrpc.Message), closed: make(chan struct{})}
	dir := s.c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gatehouse-mcp-"); err != nil {
			return nil, fmt.Errorf("a folder to run in: %w", err)
		}
		t.folder = dir
	}
	t.process, err = cli.StartContext(ctx, cli.Command{
		Path: s.c.Command[0], Args: s.c.Command[1:], Dir: dir, Env: env, NoTerminal: true,
		Marker:  "mcp-server:" + s.c.Name + ":" + rand.Text(), // of its own: a stop ends all that bears it
		MaxLine: maxMessage, Stderr: newStderrCover(c, logger), Registry: s.o.Processes,
	})
	if err != nil {
		t.clean()
		return nil, err
	}
	go t.pump() // ends with the program's output
	return t, nil
}

func (t *program) pump() {
	defer close(t.messages)
	for {
		line, err := t.process.Read()
		if err != nil {
			t.failure = tooLong(err)
			return
		}
		message, err := t.intake.take(line)
		if err != nil {
			t.failure = err
			return
		}
		if message == nil {
			continue
		}
		select {
		case t.messages <- message:
		case <-t.closed:
			t.failure = errHungUp
			return
		}
	}
}

// Connect implements mcp.Transport.
func (t *program) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// Read implements mcp.Connection.
func (t *program) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message, ok := <-t.messages:
		if !ok {
			return nil, t.failure
		}
		return message, nil
	case <-t.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (t *program) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	t.intake.sent(ctx, message)
	late := time.AfterFunc(patience, t.hangUp) // where writes have no deadline of their own
	defer late.Stop()
	if err = t.process.Write(line); err != nil {
		t.hangUp()
	}
	return err
}

// hangUp ends the connection with a program that does not read.
func (t *program) hangUp() { _ = t.Close() }

// Close implements mcp.Connection. The process lives until stop.
func (t *program) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// SessionID implements mcp.Connection.
func (t *program) SessionID() string { return "" }

// alive implements carrier: what ends shows in Read.
func (t *program) alive() context.Context { return context.Background() }

// lost implements carrier: no request fails by itself.
func (t *program) lost(error) bool { return true }

// stop ends the program and all it started.
func (t *program) stop() error {
	t.Close()
	stopped := make(chan error, 1)
	go func() { stopped <- t.process.Stop() }() // ends with the ladder
	var err error
	select {
	case err = <-stopped:
	case <-t.rushed:
		err = t.process.Kill()
	}
	for range t.messages { // to its end, which is there
	}
	t.clean()
	return err
}

func (t *program) clean() {
	if t.folder != "" {
		os.RemoveAll(t.folder) // what is left of it is in the system's folder for such
	}
}

// why says how it came to the end of the connection, which err is of.
func (t *program) why(err error) error {
	if !t.heard() {
		return errors.Join(errors.New("it does not take what it is sent"), err)
	}
	if t.failure != nil && !errors.Is(t.failure, io.EOF) && !errors.Is(t.failure, errHungUp) {
		return t.failure
	}
	select {
	case <-t.process.Done():
		return t.ended()
	case <-time.After(lastWords):
	}
	if errors.Is(t.failure, io.EOF) || err == nil {
		return errors.New("it closed its output")
	}
	return err
}

// heard waits until nothing more comes; false: something may.
func (t *program) heard() bool {
	late := time.After(lastWords)
	for {
		select {
		case _, more := <-t.messages:
			if !more {
				return true
			}
		case <-late:
			return false
		}
	}
}

// ended says how the program ended, and what it said last.
func (t *program) ended() error {
	said := t.process.Stderr()
	if said == "" {
		return fmt.Errorf("it ended (%s)", t.process.Exit())
	}
	last := said[strings.LastIndexByte(said, '\n')+1:]
	return fmt.Errorf("it ended (%s); the last line of its stderr: %s", t.process.Exit(), clip(last, stderrLine))
}
