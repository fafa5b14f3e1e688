package control

import (
	"context"
	"fmt"
	"sync"
)

// subtypeMessage is the subtype of requests that carry a message for a server of
// ours. Such a server must see its messages in the order they were sent, which a
// goroutine a request would not keep.
const subtypeMessage = "mcp_message"

// inOrder offers a request to the handler in the reader's goroutine; false when it
// is to be served as others are.
func (c *Conn) inOrder(ctx context.Context, handlers *sync.WaitGroup, r Request) bool {
	ctx, cancel := context.WithCancel(ctx)
	entry := &serving{cancel: cancel, sort: sortOf(r), ordered: true}
	if !c.enter(r.ID, entry) {
		cancel()
		c.turnAway(ctx, r)
		return true
	}
	if c.offer(ctx, r, func(body any, err error) { c.reply(ctx, handlers, r, entry, body, err) }) {
		return true
	}
	cancel()
	if !c.leave(r.ID, entry) {
		return true // answered all the same
	}
	c.over(entry)
	return false
}

// offer is HandleInOrder; a panic is an error answer.
func (c *Conn) offer(ctx context.Context, r Request, reply func(any, error)) (taken bool) {
	defer func() {
		if p := recover(); p != nil {
			taken = true
			reply(nil, fmt.Errorf("request %s: internal error: %v", r.Subtype, p))
		}
	}()
	return c.handler.HandleInOrder(ctx, r, reply)
}

// reply answers a request once. The line is written beside the caller, by a worker
// that ends with Serve at the latest: the reader must not wait for a peer that waits
// for the reader, and no server for a peer that does not read. Until it is written the
// request counts as under way.
func (c *Conn) reply(ctx context.Context, handlers *sync.WaitGroup, r Request, entry *serving, body any, err error) {
	c.mu.Lock()
	wanted := !c.closed && c.serving[r.ID] == entry
	if wanted {
		delete(c.serving, r.ID)
		handlers.Add(1) // Serve waits only after closed is set
	}
	c.mu.Unlock()
	if !wanted {
		return
	}
	entry.cancel()
	c.writers.Start(func() {
		defer handlers.Done()
		defer c.over(entry)
		c.answer(ctx, r, body, err)
	})
}
