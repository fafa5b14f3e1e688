package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testproc"
)

// kill ends the server as kill -9 does: no word to anybody. What the client has
// started is its guard, where there is one, which ends as its server did.
func (c *client) kill() error {
	pid := c.server.Process.Pid
	if children := testproc.ChildrenOf(pid); len(children) > 0 {
		pid = children[0] // a guard adopts others only after its server
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return c.end(process.Kill)
}

// followed is a command that runs while the client goes on.
type followed struct {
	command *exec.Cmd
	mu      sync.Mutex
	out     bytes.Buffer
}

func (f *followed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.Write(p)
}

func (f *followed) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

// startBeside starts a command that runs while the client goes on.
func (c *client) startBeside(args []string) error {
	f := &followed{command: exec.Command(args[0], args[1:]...)}
	f.command.Stdout, f.command.Stderr = f, f
	c.followed = f
	return f.command.Start()
}

// shown waits until the command that runs has printed something.
func (c *client) shown(ctx context.Context, pattern string) error {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for !wanted.MatchString(c.followed.text()) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("not shown; there is\n%s", c.followed.text())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// unfollow waits for the end of the command, after a signal if one is given, and
// prints its output and its exit code.
func (c *client) unfollow(signal string) error {
	f := c.followed
	if signal != "" {
		if err := f.command.Process.Signal(os.Interrupt); err != nil {
			return err
		}
	}
	err := f.command.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return err
	}
	fmt.Printf("%sfollowed exit %d\n", f.text(), f.command.ProcessState.ExitCode())
	return nil
}
