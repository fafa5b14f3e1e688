package control

import (
	"context"
	"fmt"
)

// This file counts the peer's requests under way.

// MaxInFlight bounds the peer's requests served at once, until the answer is written;
// one more is refused. Hooks' questions have this room to themselves, and so have
// messages for servers: many of one sort must not keep others from being answered.
const MaxInFlight = 512

// serving is one request of the peer under way.
type serving struct {
	cancel  context.CancelFunc
	sort    int
	ordered bool // it was taken in order, so that nothing else counts its end
}

// The sorts of requests that are bounded apart.
const (
	sortOther = iota
	sortHook
	sortMessage
	sorts
)

func sortOf(r Request) int {
	switch r.Subtype {
	case subtypeHook:
		return sortHook
	case subtypeMessage:
		return sortMessage
	}
	return sortOther
}

// enter puts a request on the list of those under way; false when its id is there
// already, or the list is full.
func (c *Conn) enter(id string, entry *serving) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving[id] != nil || c.busy[entry.sort] >= MaxInFlight {
		return false
	}
	c.serving[id] = entry
	c.busy[entry.sort]++
	return true
}

// over gives the place of a request back, of which nothing is left.
func (c *Conn) over(entry *serving) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy[entry.sort]--
}

// turnAway refuses a request that found no place.
func (c *Conn) turnAway(ctx context.Context, r Request) {
	if r.Subtype == subtypeHook {
		c.handler.HandleUnanswered(ctx, fmt.Sprintf("a hook's question was refused: its id is in use or %d of them are under way", MaxInFlight))
		return
	}
	c.handler.HandleNoise(ctx, fmt.Sprintf("control request %q refused: its id is in use or %d of its sort are under way", r.ID, MaxInFlight))
	c.send(errorLine(r.ID, "request refused: id in use or too many requests under way"))
}

// leave takes a request off the list; false when it is not there any more: the peer
// withdrew it.
func (c *Conn) leave(id string, entry *serving) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving[id] != entry {
		return false
	}
	delete(c.serving, id)
	return true
}

func (c *Conn) withdraw(id string) {
	c.mu.Lock()
	entry := c.serving[id]
	delete(c.serving, id)
	if entry != nil && entry.ordered {
		c.busy[entry.sort]--
	}
	c.mu.Unlock()
	if entry != nil {
		entry.cancel()
	}
}
