package script

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// maxQueuedFrames bounds the frames waiting for a slow reader of stdout; a
// script that gets further ahead blocks, as on a full pipe.
const maxQueuedFrames = 64

// process is one run of the scripted CLI.
type process struct {
	sc       Scenario
	opt      options
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	cwd      string
	session  string
	settings map[string]any
	out      chan []byte   // frames to the writer goroutine; nil ends it
	written  chan struct{} // closed when the writer goroutine ended
	quit     chan struct{} // closed when the process is to end
	killed   chan struct{} // closed when it is to end without flushing
	gone     chan struct{} // closed when stdin ended and that counts
	wake     chan struct{} // the main loop has something to look at

	mu         sync.Mutex
	code       int
	quitting   bool
	closed     bool // stdin ended
	endAtIdle  bool // SIGINT: exit 0 after this turn
	lastError  bool // is_error of the last result
	mode       string
	model      string
	cost       float64
	apiMS      int // of its turns so far
	calls      int // tool_use ids given
	messages   int // message ids given
	nextTurn   int
	agents     int // background agents that have not ended
	queue      []*turn
	active     *turn
	pending    []*question
	hooks      map[string][]hookMatcher
	initialize json.RawMessage
	allowed    []string // session rules from updatedPermissions
	lastAnswer answer

	servers []*mcpServer         // as initialize named them
	flights []*flight            // calls of their tools under way
	posted  map[string]*question // messages to them, by the name of the step
	answers map[string]bool      // answered messages to them, maxAnswers at most
}

func newProcess(sc Scenario, o options, stdin io.Reader, stdout, stderr io.Writer) *process {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/"
	}
	p := &process{
		sc: sc, opt: o, stdin: stdin, stdout: stdout, stderr: &lockedWriter{w: stderr}, cwd: cwd,
		settings: effective(sc, o), mode: o.get("--permission-mode"), model: o.get("--model"),
		answers: map[string]bool{}, out: make(chan []byte, maxQueuedFrames), written: make(chan struct{}),
		quit: make(chan struct{}), killed: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	if p.mode == "" {
		p.mode = "default"
	}
	if p.model == "" {
		p.model = "scripted-model"
	}
	p.session = sessionID(o)
	return p
}

// sessionID: a resumed session keeps its id unless it is forked.
func sessionID(o options) string {
	if id := o.get("--session-id"); id != "" {
		return id
	}
	if id := o.get("--resume"); id != "" && !o.has("--fork-session") {
		return id
	}
	return newUUID()
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// run plays the scenario until the process ends and returns its exit code.
func (p *process) run() int {
	go p.write() // ends with the nil frame, a write error or p.killed
	if p.sc.UnknownResume && p.opt.has("--resume") {
		p.unknownResume()
	} else {
		go p.read() // ends with stdin or, seeing p.quit, with the next line
		p.loop()
	}
	<-p.quit
	select {
	case p.out <- nil:
	case <-p.killed:
	case <-p.written:
	}
	select {
	case <-p.written:
	case <-p.killed:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code
}

// exit ends the process after the frames written so far; the first call wins.
func (p *process) exit(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quitting {
		p.quitting, p.code = true, code
		close(p.quit)
	}
}

// fail ends the process with a reason on stderr.
func (p *process) fail(code int, reason string) {
	if reason != "" {
		fmt.Fprintln(p.stderr, reason)
	}
	p.exit(code)
}

// kill ends the process at once, as a signal does.
func (p *process) kill(code int) {
	p.exit(code)
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.killed:
	default:
		p.code = code
		close(p.killed)
	}
}

// poke makes the main loop look again.
func (p *process) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// loop plays turns in order until the process ends.
func (p *process) loop() {
	for {
		if t := p.next(); t != nil {
			p.playTurn(t)
			continue
		}
		select {
		case <-p.wake:
		case <-p.quit:
			return
		}
	}
}

// next takes the next turn, or ends an idle process whose time has come.
func (p *process) next() *turn {
	p.mu.Lock()
	if len(p.queue) > 0 && !p.quitting {
		p.active = p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		return p.active
	}
	idle, failed, interrupted := p.closed && p.agents == 0, p.lastError, p.endAtIdle
	p.mu.Unlock()
	switch {
	case interrupted:
		p.exit(0)
	case idle && failed:
		p.exit(1)
	case idle:
		p.exit(0)
	}
	return nil
}

func (p *process) unknownResume() {
	reason := "No conversation found with session ID: " + p.opt.get("--resume")
	p.send(p.frame(map[string]any{
		"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "duration_ms": 0,
		"total_cost_usd": 0, "permission_denials": []any{}, "errors": []string{reason},
	}))
	p.fail(1, reason)
}

// sleep waits ms milliseconds, less if the turn is interrupted or the process ends.
func (p *process) sleep(ctx context.Context, ms int) error {
	return p.await(ctx, after(ms))
}

var errExit = errors.New("process ended")

// await blocks for one of: the channel, an interrupt, the end of the process.
func (p *process) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.quit:
		return errExit
	}
}

// lockedWriter serialises writes of several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
