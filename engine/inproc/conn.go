package inproc

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conn is the transport of one server session: the messages of the CLI from one
// initialize to the next. The link that has it guards what changes.
//
// Its goroutines: the go-sdk's reader and one for each handler; [link.wait], which
// ends last. All end when done is closed and the handlers have returned.
type conn struct {
	link  *link
	inbox chan jsonrpc.Message // never full while the bounds of the link hold
	done  chan struct{}        // the session ends
	end   sync.Once

	// Under link.mu.
	calls   map[jsonrpc.ID]*call // until their handlers ended
	backlog backlog
	ready   bool // initialize went well
}

// call is a request of the CLI.
type call struct {
	rawID     json.RawMessage
	method    string
	params    json.RawMessage
	size      int
	reply     func(json.RawMessage)
	timer     *time.Timer // nil without a timeout
	answered  bool        // the handler may go on
	cancelled bool
}

func newConn(l *link) *conn {
	room := 2*l.server.options.MaxInFlight + maxNotifications + maxAsked + 2 // each call and its cancellation; a marker and an initialize
	return &conn{link: l, inbox: make(chan jsonrpc.Message, room), done: make(chan struct{}), calls: make(map[jsonrpc.ID]*call)}
}

var (
	_ mcp.Transport  = (*conn)(nil)
	_ mcp.Connection = (*conn)(nil)
)

// Connect implements mcp.Transport.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *conn) SessionID() string { return sessionPrefix + c.link.session }

// Read implements mcp.Connection.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-c.done:
		return nil, io.EOF
	default:
	}
	select {
	case m := <-c.inbox:
		return m, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection. Its errors refuse one message; one of another
// kind would end the session.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.link.finish(c, m)
	case *jsonrpc.Request:
		return c.link.tell(c, m)
	}
	return nil
}

// Close implements mcp.Connection.
func (c *conn) Close() error {
	c.end.Do(func() { close(c.done) })
	return nil
}

// offer puts a message into the inbox, or reports that there is no room.
func (c *conn) offer(m jsonrpc.Message) bool {
	select {
	case c.inbox <- m:
		return true
	default:
		return false
	}
}

// The go-sdk runs notifications one after the other, without a bound for those that
// wait, and does not say when one has run. So a request of an unknown method is put
// behind some now and then: its answer says that all before it have run.
type backlog struct {
	count, bytes         int  // notifications that may not have run yet
	markCount, markBytes int  // of those, in front of the marker
	marked               bool // a marker is on its way
}

const (
	maxNotifications = 256 // that wait for one to return
	markAfter        = 32  // notifications
	markAfterBytes   = 1 << 20

	markMethod = "gatehouse/mark"
)

// mark puts a marker behind the notifications if there are enough of them.
func (c *conn) mark() {
	b := &c.backlog
	if b.marked || b.count < markAfter && b.bytes < markAfterBytes {
		return
	}
	if c.offer(&jsonrpc.Request{ID: c.link.markID, Method: markMethod}) {
		b.marked, b.markCount, b.markBytes = true, b.count, b.bytes
	}
}

// passed takes the answer to a marker.
func (c *conn) passed() {
	b := &c.backlog
	c.link.bytes -= b.markBytes
	c.backlog = backlog{count: b.count - b.markCount, bytes: b.bytes - b.markBytes}
	c.mark()
}
