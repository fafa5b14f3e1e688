package inproc

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxAsked bounds the requests of a server that the CLI has not answered.
const maxAsked = 64

// question is a request of the server to the CLI. Ids are the link's own: each
// session of the server begins at 1 again, and a late answer must not be taken for
// that of another.
type question struct {
	conn *conn
	id   jsonrpc.ID
}

// notTaken is the error for a message that was not sent. The go-sdk knows the code:
// it fails the one message, where any other error would end the session.
func notTaken(err error) error {
	return &jsonrpc.Error{Code: -32005, Message: "message to the CLI: " + err.Error()}
}

// tell sends a message of the server.
func (l *link) tell(c *conn, r *jsonrpc.Request) error {
	if strings.HasSuffix(r.Method, "/list_changed") {
		return l.tellLater(c, r.Method)
	}
	out := &jsonrpc.Request{ID: r.ID, Method: r.Method, Params: r.Params}
	if err := l.renumber(c, out); err != nil {
		return notTaken(err)
	}
	text, err := jsonrpc.EncodeMessage(out)
	if err == nil {
		err = l.send(text)
	}
	if err != nil {
		l.unask(out.ID)
		return notTaken(err)
	}
	return nil
}

func (l *link) send(text json.RawMessage) error {
	if l.push == nil {
		return errors.New("nobody listens")
	}
	return l.push(text)
}

// renumber gives a request an id of the link's, and a cancellation that of the
// request it names.
func (l *link) renumber(c *conn, r *jsonrpc.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.conn != c {
		return errors.New("the session has ended")
	}
	if r.Method == cancelledMethod {
		return l.renumberCancellation(c, r)
	}
	if !r.IsCall() {
		return nil
	}
	if len(l.asked) >= maxAsked {
		return errors.New("64 requests of the server wait for an answer, which is the limit")
	}
	id, err := numberID(l.lastAsked + 1)
	if err != nil {
		return err
	}
	l.lastAsked++
	l.asked[l.lastAsked] = question{c, r.ID}
	r.ID = id
	return nil
}

func (l *link) renumberCancellation(c *conn, r *jsonrpc.Request) error {
	var params map[string]json.RawMessage
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return err
	}
	id, err := parseID(params["requestId"])
	if err != nil {
		return err
	}
	for n, q := range l.asked {
		if q.conn == c && q.id == id {
			delete(l.asked, n)
			params["requestId"] = plain(n)
			r.Params = plain(params)
			return nil
		}
	}
	return errors.New("the request it cancels was answered")
}

// resolve hands an answer of the CLI to the session that asked.
func (l *link) resolve(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := m.id.Raw().(int64)
	q, known := l.asked[n]
	if !ok || !known {
		return // nobody waits for it
	}
	delete(l.asked, n)
	r := &jsonrpc.Response{ID: q.id, Result: m.result}
	if m.err != nil {
		r.Error = m.err
	}
	q.conn.offer(r) // it has room for maxAsked
}

func (l *link) unask(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := id.Raw().(int64); ok {
		delete(l.asked, n)
	}
}

// forget drops the questions of a session that has ended.
func (l *link) forget(c *conn) {
	for n, q := range l.asked {
		if q.conn == c {
			delete(l.asked, n)
		}
	}
}

// tellLater sends a list_changed from a goroutine of the link: the go-sdk tells all
// sessions one after the other, and one that does not listen must not hold up the
// others. The same notification waits once.
func (l *link) tellLater(c *conn, method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.conn != c {
		return notTaken(errors.New("the session has ended"))
	}
	if !slices.Contains(l.changed, method) {
		l.changed = append(l.changed, method) // there are three of them
	}
	if !l.pushing {
		l.pushing = true
		go l.pushChanges() // ends when none waits
	}
	return nil
}

func (l *link) pushChanges() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.changed) > 0 {
		method := l.changed[0]
		l.changed = l.changed[1:]
		l.mu.Unlock()
		text := plain(map[string]string{"jsonrpc": "2.0", "method": method})
		if err := l.send(text); err != nil {
			l.server.options.Logger.Debug("push failed", "server", l.server.title(), "method", method, "err", err)
		}
		l.mu.Lock()
	}
	l.pushing = false
	l.settle()
}
