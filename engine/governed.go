package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

// Tools in this process are governed on the messages themselves: what is judged are
// the very bytes that the tool server gets, whoever wrote it, and what it says is
// judged and covered before the CLI gets it. A call is judged here beside the gate,
// since a call that the CLI never asked about comes this way too.

// governed hands one message of the CLI to a tool server, under policy. It is called
// in the order the messages came in, and does not block; reply is called exactly
// once, from any goroutine. ctx ends when the CLI withdraws the message, or later.
func (p *process) governed(ctx context.Context, server string, link ToolLink, message json.RawMessage, reply func(json.RawMessage)) {
	m, err := readMessage(message)
	if err != nil {
		reply(rpcError(m.id, rpcInvalidRequest, err.Error()))
		return
	}
	g := &p.governing
	switch {
	case m.method == methodCall:
		p.governCall(ctx, server, link, m, reply)
	case m.id == nil: // a notification, or an answer to the server
		acknowledge := func(json.RawMessage) { reply(acknowledged) }
		if m.method != methodCancelled || !g.withdraw(server, m, link, acknowledge) {
			g.handOver(link, m, acknowledge)
		}
	default:
		if m.method == methodInitialize {
			g.renew(server)
		}
		if m.method == methodList {
			reply = p.lists.asked(server, reply)
		}
		g.handOver(link, m, func(response json.RawMessage) { p.governOther(server, m, response, reply) })
	}
}

// Bounds of what is under way for one process.
const (
	maxJudged   = 128 // calls, or results, that are being judged at once; a call over it is refused, a result waits
	maxUnderWay = 512 // calls of tools, as many as the CLI may have requests; one more is refused
)

// governing is what a process's tool servers have under way. The zero value has nothing.
type governing struct {
	passes  passes
	settled shapedFailures
	told    window // notices of a minute

	order sync.Mutex // held while a link is handed a message, so that each gets its own in one order

	mu      sync.Mutex
	calls   map[callKey]*governedCall
	judging chan struct{} // a token for each call that is being judged
	results chan struct{} // the same for results
	closed  bool
	work    sync.WaitGroup // added to with mu held, and not once it is closed
	workers workers.Pool
}

// callKey names a call: ids are a server's own.
type callKey struct{ server, id string }

// start runs f beside the caller; close waits for it. false when the process is over.
func (g *governing) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Add(1)
	g.workers.Start(func() { // ends with f
		defer g.work.Done()
		f()
	})
	return true
}

// close answers what is under way; the process is over, and its context ended, so
// that all judging ends. It returns when nothing of it is left.
func (g *governing) close() {
	g.mu.Lock()
	g.closed = true
	open := make([]*governedCall, 0, len(g.calls))
	for _, c := range g.calls {
		open = append(open, c)
	}
	g.mu.Unlock()
	for _, c := range open {
		c.cancel()
		c.answer(c.toolError(endedText))
	}
	g.work.Wait()
	g.workers.Close()
	g.passes.clear()
	g.settled.clear()
}

const endedText = "The session's process has ended."

// enter takes a call in; the error says why it is refused.
func (g *governing) enter(c *governedCall) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, twice := g.calls[c.key]
	switch {
	case g.closed:
		return fmt.Errorf("the session's process has ended")
	case twice:
		return fmt.Errorf("id %s: a call with it is under way", clip(string(c.id)))
	case len(g.calls) >= maxUnderWay:
		return fmt.Errorf("%d calls are under way in this process, one more is refused", maxUnderWay)
	}
	if g.calls == nil {
		g.calls = make(map[callKey]*governedCall)
	}
	g.calls[c.key] = c
	return nil
}

// leave forgets a call that is answered.
func (g *governing) leave(c *governedCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls[c.key] == c { // else a later one of its id
		delete(g.calls, c.key)
	}
}

// handOver gives a link its next message.
func (g *governing) handOver(link ToolLink, m rpcMessage, reply func(json.RawMessage)) {
	g.order.Lock()
	defer g.order.Unlock()
	link.Deliver(m.raw, reply)
}

// withdraw cancels a call that is still being judged: it is answered and never runs.
// With any other the server is told of it, behind the call. False: it names none.
func (g *governing) withdraw(server string, m rpcMessage, link ToolLink, acknowledge func(json.RawMessage)) bool {
	id, err := readID(member(m.params, "requestId"))
	if err != nil {
		return false
	}
	g.order.Lock()
	defer g.order.Unlock()
	g.mu.Lock()
	c := g.calls[callKey{server, id}]
	g.mu.Unlock()
	if c == nil || c.delivered {
		link.Deliver(m.raw, acknowledge)
		return true
	}
	c.giveUp()
	acknowledge(nil)
	return true
}

// withdrawn is for a call whose own request was taken back.
func (g *governing) withdrawn(c *governedCall) {
	g.order.Lock()
	defer g.order.Unlock()
	if !c.delivered {
		c.giveUp()
	}
}

const cancelledText = "The call was cancelled before it ran."

// renew is for a server that is initialized once more, whose ids begin anew: calls
// that are still being judged are not for it any more.
func (g *governing) renew(server string) {
	g.order.Lock()
	defer g.order.Unlock()
	var left []*governedCall
	g.mu.Lock()
	for key, c := range g.calls {
		if key.server == server {
			delete(g.calls, key)
			left = append(left, c)
		}
	}
	g.mu.Unlock()
	for _, c := range left {
		if !c.delivered { // else the link answers it
			c.giveUp()
		}
	}
}
