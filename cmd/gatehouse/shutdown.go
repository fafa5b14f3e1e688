package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// The parts of shutdownTime, from the end of stdin or a signal on: calls under
// way are cancelled and get callTime to end; all sessions have ended after
// closeTime, of which each takes eight seconds at most. What still runs after
// overdueTime is left behind.
const (
	shutdownTime = 15 * time.Second
	overdueTime  = shutdownTime - time.Second
	closeTime    = shutdownTime - 2*time.Second
	callTime     = 2 * time.Second
)

// conversation is one client's connection and how it may end.
type conversation struct {
	run       func(context.Context) error // serves until the client leaves or the context ends
	hungUp    <-chan struct{}             // closed when nothing more comes from the client
	close     func(context.Context) error // ends every session
	callTime  time.Duration
	closeTime time.Duration
}

var errCallsLeft = errors.New("calls of the client are still under way")

// serve runs the conversation to its end. Once the client has left or ctx has
// ended that takes closeTime at most, whatever run still does.
func (v conversation) serve(ctx context.Context, logger *slog.Logger) error {
	ran := make(chan error, 1)
	go func() { ran <- v.run(ctx) }() // ends with the connection and its calls, or is left behind
	select {
	case err := <-ran:
		if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
			logger.Warn("connection ended", "error", err)
		}
		ran <- nil
	case <-v.hungUp:
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), v.closeTime)
	defer cancel()
	select { // a start that is given up takes back what it did before all is closed
	case <-ran:
		return v.close(closing)
	case <-time.After(v.callTime):
	}
	if err := v.close(closing); err != nil {
		return err
	}
	select {
	case <-ran:
		return nil
	case <-closing.Done():
		return errCallsLeft
	}
}

// watched calls ended once its reader has nothing more to give.
type watched struct {
	io.Reader
	once  sync.Once
	ended func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil {
		w.once.Do(w.ended)
	}
	return n, err
}

// Close closes the reader if it can be closed.
func (w *watched) Close() error {
	if c, ok := w.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// closeEngine ends every session. It takes its time from itself: the context
// of the command may have ended already.
func (c *command) closeEngine(eng *engine.Engine, logger *slog.Logger) int {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return c.closed(eng.Close(ctx), logger)
}

// closed is the exit code after the sessions were ended.
func (c *command) closed(err error, logger *slog.Logger) int {
	if err != nil {
		logger.Error("sessions may be left behind", "error", err)
		return exitTurnFailed
	}
	return exitOK
}

// policyTime is what commands that hold no session get to end in, only files that
// are replaced as a whole.
const policyTime = time.Second

// sessionless are those commands.
var sessionless = []string{"policy", "plugin", "redact"}

// endCommand ends this process soon after a signal.
func endCommand(args []string) {
	if len(args) == 0 || !slices.Contains(sessionless, args[0]) {
		endSoon()
		return
	}
	time.AfterFunc(policyTime, func() { // ends with the process
		lastWords(os.Stderr, "gatehouse: interrupted\n")
		os.Exit(exitInterrupted)
	})
}

// endSoon ends this process after overdueTime: a call of the system that never
// returns, or an output nobody reads, must not keep it.
func endSoon() {
	time.AfterFunc(overdueTime, func() { // ends with the process
		lastWords(os.Stderr, fmt.Sprintf("gatehouse: not at an end %s after it was told to; sessions may be left behind\n", overdueTime))
		os.Exit(exitTurnFailed)
	})
}

// lastWords waits a moment at most: nobody may be reading.
func lastWords(w io.Writer, text string) {
	written := make(chan struct{})
	go func() { // ends with the write, or with the process
		defer close(written)
		io.WriteString(w, text)
	}()
	select {
	case <-written:
	case <-time.After(time.Second / 2):
	}
}
