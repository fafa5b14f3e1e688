package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what waits to be pushed to the CLI on one connection.
const (
	maxPushes     = 128
	maxPushBytes  = 8 << 20          // of all that wait together
	pushedAckWait = 30 * time.Second // the CLI may take to say that one came
)

var (
	errNotListening = errors.New("the session's process does not listen any more")
	errPushesFull   = errors.New("too many messages wait for the session's process")
)

// pushQueue holds what a server sends by itself until the CLI takes it. The zero
// value is ready.
type pushQueue struct {
	mu      sync.Mutex
	waiting []pushed
	bytes   int
	sending bool // a goroutine takes them
	closed  bool
}

type pushed struct {
	message json.RawMessage
	change  string // the method of a note that a list changed, "" for all else
}

// add queues a message; start says that somebody has to begin to take them. A note
// that a list changed is not queued beside one that waits: whoever reads that one
// asks for the newest list.
func (q *pushQueue) add(m pushed) (start bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false, errNotListening
	case m.change != "" && slices.ContainsFunc(q.waiting, func(w pushed) bool { return w.change == m.change }):
		return false, nil
	case len(q.waiting) >= maxPushes || q.bytes+len(m.message) > maxPushBytes:
		return false, errPushesFull
	}
	q.waiting, q.bytes = append(q.waiting, m), q.bytes+len(m.message)
	start, q.sending = !q.sending, true
	return start, nil
}

// next takes the oldest; false when none waits, and then somebody else may take
// those to come.
func (q *pushQueue) next() (json.RawMessage, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.sending = nil, false
		return nil, false
	}
	m := q.waiting[0].message
	q.waiting[0] = pushed{}
	q.waiting, q.bytes = q.waiting[1:], q.bytes-len(m)
	return m, true
}

func (q *pushQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.waiting, q.bytes = true, nil, 0
}

// push is what a server sends with; it never waits for the CLI.
func (l *toolLink) push(message json.RawMessage) error {
	if !json.Valid(message) || !isObject(message) {
		return errors.New("push to the session's process: the message is no JSON object")
	}
	m := pushed{message: slices.Clone(message)}
	if _, method := rpcHead(message); strings.HasPrefix(method, "notifications/") && strings.HasSuffix(method, "/list_changed") {
		m.change = method
	}
	if m.change == "notifications/tools/list_changed" {
		l.process.lists.changed(l.server)
	}
	start, err := l.pushes.add(m)
	if err != nil {
		return fmt.Errorf("push to the session's process: %w", err)
	}
	if start { // while the queue is open the goroutine that reads the process is there, so work is not done
		l.process.session.work.Go(l.sendPushes) // ends when nothing waits, or with the process
	}
	return nil
}

func (l *toolLink) sendPushes() {
	for {
		message, ok := l.pushes.next()
		if !ok {
			return
		}
		if err := l.sendPush(message); err != nil {
			s := l.process.session
			s.engine.log.Debug("message of a tool server was not taken", "session", s.id, "server", l.server, "error", s.forLog(clip(err.Error())))
		}
	}
}

func (l *toolLink) sendPush(message json.RawMessage) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	p := l.process
	message, ok := p.governedPush(l.server, message)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.ctx, pushedAckWait)
	defer cancel()
	_, err = p.conn.Call(ctx, "mcp_message", map[string]any{"server_name": l.server, "message": message})
	return err
}
