package inproc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Bounds of a link.
const (
	maxBytes    = 64 << 20        // of messages whose handlers have not ended
	maxSessions = 8               // server sessions whose handlers have not ended, with the current one
	cancelGrace = 2 * time.Second // for a cancelled handler, then the call is answered for it

	codeBusy = -32000 // a bound is reached
)

// link is one connection of a Server. What changes is under mu, which is not held
// while a reply or a push runs.
type link struct {
	server  *Server
	session string
	push    func(json.RawMessage) error
	markID  jsonrpc.ID // of [backlog] markers; no CLI can guess it

	mu        sync.Mutex
	closed    bool
	conn      *conn              // the current session; nil before initialize
	conns     map[*conn]struct{} // with those whose handlers have not ended
	running   int                // calls in all of them
	bytes     int
	answering int // replies that have not returned, of calls that may have ended
	asked     map[int64]question
	lastAsked int64
	changed   []string      // list_changed notifications to push
	pushing   bool          // a goroutine pushes them
	idle      chan struct{} // closed when closed and nothing is left
}

func newLink(s *Server, session string, push func(json.RawMessage) error) *link {
	markID, _ := jsonrpc.MakeID(rand.Text())
	return &link{
		server: s, session: session, push: push, markID: markID,
		conns: make(map[*conn]struct{}), asked: make(map[int64]question), idle: make(chan struct{}),
	}
}

// Deliver implements Link.
func (l *link) Deliver(text json.RawMessage, reply func(json.RawMessage)) {
	m, err := parse(text)
	switch {
	case err != nil:
		reply(refusal(m.rawID, jsonrpc.CodeInvalidRequest, "invalid request: "+err.Error()))
	case !m.named:
		l.resolve(m)
		reply(acknowledgement)
	case m.rawID == nil:
		reply(l.notification(m))
	case m.method == "initialize":
		l.initialize(m, reply)
	default:
		if failure := l.request(m, reply); failure != nil {
			reply(response(m.rawID, nil, failure))
		}
	}
}

func refused(code int64, format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// request hands a call to the current session.
func (l *link) request(m message, reply func(json.RawMessage)) *jsonrpc.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch c := l.conn; {
	case l.closed:
		return refused(jsonrpc.CodeInternalError, "the connection to this server is closed")
	case c == nil:
		return refused(jsonrpc.CodeInvalidRequest, "%q before initialize", shorten(m.method, 80))
	case c.calls[m.id] != nil:
		return refused(jsonrpc.CodeInvalidRequest, "id %s is in use by a request that has not ended", shorten(string(m.rawID), 80))
	case l.running >= l.server.options.MaxInFlight:
		return refused(codeBusy, "%d requests are under way on this connection, which is the limit", l.running)
	case l.answering >= l.maxAnswering():
		return l.deaf()
	}
	return l.enter(l.conn, m, reply)
}

// maxAnswering leaves room for replies that are just about to return.
func (l *link) maxAnswering() int { return l.server.options.MaxInFlight + DefaultMaxInFlight }

func (l *link) deaf() *jsonrpc.Error {
	return refused(codeBusy, "%d answers on this connection have not been taken, which is the limit", l.answering)
}

// enter makes a call known and hands it to c.
func (l *link) enter(c *conn, m message, reply func(json.RawMessage)) *jsonrpc.Error {
	if l.bytes+m.size > maxBytes {
		return refused(codeBusy, "the requests under way on this connection have %d bytes; with this one it is more than the limit of %d", l.bytes, maxBytes)
	}
	if !c.offer(&jsonrpc.Request{ID: m.id, Method: m.method, Params: m.params}) {
		return refused(codeBusy, "%d messages wait for the server, which is the limit", cap(c.inbox))
	}
	k := &call{rawID: m.rawID, method: m.method, params: m.params, size: m.size, reply: reply}
	c.calls[m.id] = k
	l.running++
	l.bytes += m.size
	if d := l.server.options.Timeout; d > 0 {
		k.timer = time.AfterFunc(d, func() { l.expire(c, m.id, k) })
	}
	return nil
}

// initialize begins a new session of the server and ends the one before.
func (l *link) initialize(m message, reply func(json.RawMessage)) {
	l.mu.Lock()
	if failure := l.mayBegin(); failure != nil {
		l.mu.Unlock()
		reply(response(m.rawID, nil, failure))
		return
	}
	unanswered := l.retire("the CLI began a new session with this server before the call ended")
	c := newConn(l)
	failure := l.begin(c, m, reply)
	l.answer(unanswered)
	l.mu.Unlock()
	if failure != nil {
		reply(response(m.rawID, nil, failure))
	}
}

func (l *link) mayBegin() *jsonrpc.Error {
	if l.closed {
		return refused(jsonrpc.CodeInternalError, "the connection to this server is closed")
	}
	if l.answering >= l.maxAnswering() {
		return l.deaf()
	}
	if len(l.conns) >= maxSessions {
		return refused(codeBusy, "handlers of %d sessions with this server have not ended, which is the limit", len(l.conns))
	}
	return nil
}

func (l *link) begin(c *conn, m message, reply func(json.RawMessage)) *jsonrpc.Error {
	if failure := l.enter(c, m, reply); failure != nil {
		return failure
	}
	session, err := l.server.server.Connect(context.Background(), c, nil)
	if err != nil {
		l.drop(c, m.id)
		return refused(jsonrpc.CodeInternalError, "begin a session with the server: %v", err)
	}
	l.conn = c
	l.conns[c] = struct{}{}
	go l.wait(c, session.Close) // ends with the session's last handler
	return nil
}

// wait sees a session to its end.
func (l *link) wait(c *conn, end func() error) {
	<-c.done
	_ = end() // it waits for the handlers; what the transport said is no news
	l.mu.Lock()
	defer l.mu.Unlock()
	unanswered := l.unanswered(c, "the server ended the session")
	for id := range c.calls {
		l.drop(c, id)
	}
	l.bytes -= c.backlog.bytes
	if l.conn == c {
		l.conn = nil
	}
	l.forget(c)
	l.answer(unanswered)
	delete(l.conns, c)
	l.settle()
}

// retire ends the current session and returns what answers its calls.
func (l *link) retire(why string) []func() {
	c := l.conn
	if c == nil {
		return nil
	}
	l.conn = nil
	_ = c.Close() // the go-sdk cancels the handlers when it reads the end
	return l.unanswered(c, why)
}

// unanswered marks all calls of c answered and returns what answers them.
func (l *link) unanswered(c *conn, why string) (answers []func()) {
	for _, k := range c.calls {
		if k.answered {
			continue
		}
		k.answered = true
		text := refusal(k.rawID, jsonrpc.CodeInternalError, why)
		answers = append(answers, func() { k.reply(text) })
	}
	return answers
}

// answer calls replies that are not to be waited for.
func (l *link) answer(replies []func()) {
	if len(replies) == 0 {
		return
	}
	l.answering++
	go func() { // ends with the last reply
		for _, reply := range replies {
			reply()
		}
		l.answered()
	}()
}

func (l *link) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answering--
	l.settle()
}

// drop forgets a call whose handler ended.
func (l *link) drop(c *conn, id jsonrpc.ID) *call {
	k := c.calls[id]
	if k == nil {
		return nil
	}
	delete(c.calls, id)
	l.running--
	l.bytes -= k.size
	if k.timer != nil {
		k.timer.Stop()
	}
	return k
}

// finish takes the server's answer to a call.
func (l *link) finish(c *conn, r *jsonrpc.Response) {
	l.mu.Lock()
	if r.ID == l.markID {
		c.passed()
		l.mu.Unlock()
		return
	}
	k := l.drop(c, r.ID)
	if k == nil || k.answered {
		l.mu.Unlock()
		return
	}
	k.answered = true
	if k.method == "initialize" && r.Error == nil {
		c.ready = true
	}
	var failure *jsonrpc.Error
	if r.Error != nil {
		failure = wireError(r.Error, c.ready)
	}
	l.answering++ // apart from running: whoever has the answer may send the next call
	l.mu.Unlock()
	k.reply(response(k.rawID, r.Result, failure))
	l.answered()
}

// Close implements Link.
func (l *link) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.changed = nil
	unanswered := l.retire("the connection to this server was closed before the call ended")
	l.answer(unanswered)
	l.settle()
	l.mu.Unlock()
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Errorf("close the connection to server %q: %d handlers, %d replies or a push have not ended: %w", l.server.title(), l.running, l.answering, ctx.Err())
}

// settle notes when a closed link has nothing left.
func (l *link) settle() {
	if !l.closed || len(l.conns) > 0 || l.answering > 0 || l.pushing {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}
