package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// handServer is a tool server written by hand, with the tools "say" and "hang".
type handServer struct {
	name    string
	refuse  func() error                // of Connect; nil: it connects
	trouble func(method string)         // before a message is answered; nil: none
	closing func(context.Context) error // of Close; nil: at once

	mu    sync.Mutex
	links []*handLink
}

// handLink is a connection to one.
type handLink struct {
	server  *handServer
	session string
	push    func(json.RawMessage) error

	mu      sync.Mutex
	methods []string // of what came, in order; "answer" for one
	open    []func() // what Close answers
	closed  bool
}

func (h *handServer) Connect(session string, push func(json.RawMessage) error) (engine.ToolLink, error) {
	if h.refuse != nil {
		if err := h.refuse(); err != nil {
			return nil, err
		}
	}
	l := &handLink{server: h, session: session, push: push}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links = append(h.links, l)
	return l, nil
}

// link is the connection number i, nil while there is none.
func (h *handServer) link(i int) *handLink {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i >= len(h.links) {
		return nil
	}
	return h.links[i]
}

func (h *handServer) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.links)
}

func (l *handLink) seen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.methods, " ")
}

func (l *handLink) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *handLink) Deliver(raw json.RawMessage, reply func(json.RawMessage)) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(raw, &m) // it was read before
	l.mu.Lock()
	l.methods = append(l.methods, m.Method)
	if m.Method == "" {
		l.methods[len(l.methods)-1] = "answer"
	}
	l.mu.Unlock()
	if l.server.trouble != nil {
		l.server.trouble(m.Method)
	}
	answer := func(result string) {
		reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
	}
	switch {
	case m.ID == nil || m.Method == "":
		reply(nil) // any answer will do
	case m.Method == "initialize":
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"` + l.server.name + `","version":"1"}}`)
	case m.Method == "tools/list":
		answer(`{"tools":[{"name":"say","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}`)
	case m.Params.Name == "hang":
		l.mu.Lock()
		l.open = append(l.open, func() { answer(`{"content":[{"type":"text","text":"closed"}],"isError":true}`) })
		l.mu.Unlock()
	default:
		answer(`{"content":[{"type":"text","text":"said by ` + l.server.name + `"}]}`)
	}
}

func (l *handLink) Close(ctx context.Context) error {
	l.mu.Lock()
	open := slices.Clone(l.open)
	l.open, l.closed = nil, true
	l.mu.Unlock()
	for _, answer := range open {
		answer()
	}
	if l.server.closing != nil {
		return l.server.closing(ctx)
	}
	return nil
}
