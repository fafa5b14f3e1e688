package inproc

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const cancelledMethod = "notifications/cancelled"

// notification hands a notification to the current session. All are answered.
func (l *link) notification(m message) json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conn
	switch {
	case l.closed || c == nil:
		return acknowledgement // nobody is there to hear it
	case m.method == cancelledMethod:
		l.withdraw(c, m.params)
		return acknowledgement
	case c.backlog.count >= maxNotifications:
		return refusal(nil, codeBusy, fmt.Sprintf("%d notifications wait for the server, which is the limit", c.backlog.count))
	case l.bytes+m.size > maxBytes:
		return refusal(nil, codeBusy, fmt.Sprintf("notification is over the limit of %d bytes under way", maxBytes))
	}
	if !c.offer(&jsonrpc.Request{Method: m.method, Params: m.params}) {
		return refusal(nil, codeBusy, fmt.Sprintf("%d messages wait for the server, which is the limit", cap(c.inbox)))
	}
	c.backlog.count++
	c.backlog.bytes += m.size
	l.bytes += m.size
	c.mark()
	return acknowledgement
}

// withdraw cancels the call that notifications/cancelled names. Its handler still
// answers, or after cancelGrace the link does.
func (l *link) withdraw(c *conn, params json.RawMessage) {
	var named map[string]json.RawMessage
	if json.Unmarshal(params, &named) != nil {
		return
	}
	id, err := parseID(named["requestId"])
	if err != nil {
		return
	}
	k := c.calls[id]
	if k == nil || k.cancelled || k.answered || k.method == "initialize" {
		return
	}
	k.cancelled = true
	c.cancel(k)
	if k.timer != nil {
		k.timer.Reset(cancelGrace)
		return
	}
	k.timer = time.AfterFunc(cancelGrace, func() { l.expire(c, id, k) })
}

// cancel ends the context of a handler. The messages are bounded by the calls.
func (c *conn) cancel(k *call) {
	params := append(append(json.RawMessage(`{"requestId":`), k.rawID...), '}')
	c.offer(&jsonrpc.Request{Method: cancelledMethod, Params: params})
}

// expire answers a call for its handler, which took too long; the id stays in use
// until the handler ends.
func (l *link) expire(c *conn, id jsonrpc.ID, k *call) {
	l.mu.Lock()
	if k.answered || c.calls[id] != k {
		l.mu.Unlock()
		return
	}
	k.answered = true
	if !k.cancelled {
		c.cancel(k)
	}
	l.answering++
	l.mu.Unlock()
	k.reply(l.tooLate(k))
	l.answered()
}

func (l *link) tooLate(k *call) json.RawMessage {
	what := fmt.Sprintf("%q", k.method)
	if k.method == "tools/call" {
		what = fmt.Sprintf("tool %q", calledTool(k.params))
	}
	text := fmt.Sprintf("%s of server %q did not answer within %v (timeout)", what, l.server.title(), l.server.options.Timeout)
	if k.cancelled {
		text = fmt.Sprintf("%s of server %q was cancelled and has not ended", what, l.server.title())
	}
	if k.method == "tools/call" {
		return response(k.rawID, toolError(text), nil)
	}
	return refusal(k.rawID, jsonrpc.CodeInternalError, text)
}

func calledTool(params json.RawMessage) (name string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(params, &fields) == nil {
		_ = json.Unmarshal(fields["name"], &name) // one that is no string is refused elsewhere
	}
	return shorten(name, 128)
}
