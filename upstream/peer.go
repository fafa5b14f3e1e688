package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
)

// A server that ended, or did not start, is started again after a pause, which
// doubles each time and begins anew after a life of steadyAfter.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = time.Minute
	steadyAfter  = time.Minute
	betweenLists = time.Second // of tools; a server may say at any rate that they changed
	longPause    = 10 * time.Second
	maxRemarks   = 64 // lines of the log about its lists, in each tellAgain
)

// remote is a connection to a server; see conn.
type remote interface {
	call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)
	list(ctx context.Context) (tools []json.RawMessage, whole bool, err error)
	instructions() string
	listChanged() <-chan struct{}
	over() <-chan struct{}
	cause() error // after over
	close() error // returns when nothing of it is left
}

// peer is one running server, or one that is started when it is needed, and the
// tools that its links offer.
type peer struct {
	server  *Server
	set     *inproc.ToolSet
	dial    func(context.Context) (remote, error)
	logger  *slog.Logger
	remarks meter
	cancel  context.CancelFunc
	done    chan struct{} // closed when nothing of it is left
	woken   chan struct{} // holds one when the number of links has changed

	mu       sync.Mutex
	links    int
	remote   remote        // nil: not connected
	turned   chan struct{} // closed, and another in its place, after each attempt and each end
	failures int           // starts that failed
	known    bool          // the tools were listed once
	told     string
	why      error // of the last end or failure
	pause    time.Duration
	next     time.Time // no attempt before
}

// newPeer makes one; run has to be called.
func newPeer(s *Server, dial func(context.Context) (remote, error)) *peer {
	return &peer{
		server: s, dial: dial, logger: s.logger, remarks: meter{window: tellAgain, most: maxRemarks},
		set:  inproc.NewToolSet(s.c.Name, s.version(), "", &inproc.Options{Timeout: -1, Logger: s.logger}), // the limit of a call is ours
		done: make(chan struct{}), woken: make(chan struct{}, 1), turned: make(chan struct{}),
	}
}

// run keeps the server running while it has links, until ctx ends.
func (p *peer) run(ctx context.Context) {
	defer close(p.done)
	for p.wanted(ctx) {
		r, err := p.begin(ctx)
		if err == nil {
			began := time.Now()
			p.logger.Info("mcp server: connected")
			err = p.attend(ctx, r)
			p.down(err, time.Since(began))
			if left := r.close(); left != nil {
				p.logger.Error("mcp server: something of it is left", "error", left)
			}
			continue
		}
		p.server.absent.Store(ctx.Err() == nil)
		p.mu.Lock()
		p.failures++
		p.mu.Unlock()
		p.down(err, 0)
	}
}

// wanted waits until there is a link and the pause is over; false: ctx has ended.
func (p *peer) wanted(ctx context.Context) bool {
	for ctx.Err() == nil {
		p.mu.Lock()
		links, rest := p.links, time.Until(p.next)
		p.mu.Unlock()
		if links > 0 && rest <= 0 {
			return true
		}
		var over <-chan time.Time
		if links > 0 {
			over = time.After(rest)
		}
		select {
		case <-ctx.Done():
		case <-p.woken:
		case <-over:
		}
	}
	return false
}

// begin connects and lists the tools.
func (p *peer) begin(ctx context.Context) (r remote, err error) {
	within, cancel := context.WithTimeoutCause(ctx, p.server.c.StartTimeout, p.server.slow())
	defer cancel()
	if r, err = p.dial(within); err == nil {
		if err = p.relist(within, r); err != nil {
			err = errors.Join(err, r.close())
		}
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && within.Err() != nil {
			err = p.server.slow()
		}
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remote, p.why, p.told = r, nil, p.readable(r.instructions())
	p.turn()
	return r, nil
}

// turn tells all who wait; p.mu is held.
func (p *peer) turn() {
	close(p.turned)
	p.turned = make(chan struct{})
}

// readable is what the server tells the model, or nothing.
func (p *peer) readable(text string) string {
	text = plain(strings.ReplaceAll(text, "\r\n", "\n"))
	if len(text) > maxDescription || strings.ContainsFunc(text, hidden) {
		p.logger.Warn("mcp server: its instructions are not passed on: they are too long, or hold an invisible character", "bytes", len(text), "most", maxDescription)
		return ""
	}
	return text
}

// attend waits for the end of a connection, or of the need for it (nil), and keeps
// the tools as the server tells them.
func (p *peer) attend(ctx context.Context, r remote) error {
	listed := time.Now()
	for {
		var idle <-chan time.Time
		if p.unused() {
			idle = time.After(p.server.c.IdleTimeout)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.over():
			return r.cause()
		case <-p.woken:
		case <-idle:
			if p.retired() {
				p.logger.Info("mcp server: ended, since no session used it", "for", p.server.c.IdleTimeout)
				return nil
			}
		case <-r.listChanged():
			if !p.rest(ctx, r, betweenLists-time.Since(listed)) {
				continue
			}
			within, cancel := context.WithTimeout(ctx, p.server.c.StartTimeout)
			if err := p.relist(within, r); err != nil {
				p.logger.Warn("mcp server: its tools stay as they were", "error", err)
			}
			cancel()
			listed = time.Now()
		}
	}
}

// retired takes the connection away from calls to come, if there are no links.
func (p *peer) retired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.links > 0 {
		return false
	}
	p.remote = nil
	return true
}

func (p *peer) unused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.links == 0
}

// rest waits; false: the connection has ended.
func (p *peer) rest(ctx context.Context, r remote, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.over():
		return false
	case <-time.After(d):
		return true
	}
}

// down notes the end of a connection, or a start that failed; nil: it was not needed.
func (p *peer) down(err error, life time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remote, p.why = nil, err
	if err == nil || life >= steadyAfter {
		p.pause = 0
	}
	if err != nil {
		p.pause = min(max(2*p.pause, firstPause), longestPause)
		p.logger.Warn("mcp server: down", "error", err, "next_start_in", p.pause)
	}
	p.next = time.Now().Add(p.pause)
	p.turn()
}

// enter and leave count links.
func (p *peer) enter() { p.count(1) }
func (p *peer) leave() { p.count(-1) }

func (p *peer) count(n int) {
	p.mu.Lock()
	p.links += n
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default: // it looks anyway
	}
}

// instructions are what the server told last.
func (p *peer) instructions() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// soon returns a channel that is closed when it is known what the server offers;
// nil: it is known, or will not be soon.
func (p *peer) soon() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known || p.server.absent.Load() || time.Until(p.next) > 0 {
		return nil
	}
	return p.turned
}
