package redact

import (
	"encoding/json"
	"strings"
)

// cursor goes through a valid document and notes what changes. What does not is
// copied as it stands.
type cursor struct {
	in   string
	pos  int
	out  []byte
	kept int // in[:kept] is in out already
}

func (c *cursor) space() {
	for c.pos < len(c.in) && strings.IndexByte(" \t\r\n", c.in[c.pos]) >= 0 {
		c.pos++
	}
}

// str passes the string at pos and returns it, and where it began.
func (c *cursor) str() (s string, start int) {
	start = c.pos
	c.quoted()
	return unquote(c.in[start:c.pos]), start
}

// quoted passes the string at pos.
func (c *cursor) quoted() {
	for c.pos++; c.in[c.pos] != '"'; c.pos++ {
		if c.in[c.pos] == '\\' {
			c.pos++
		}
	}
	c.pos++
}

// skip passes a value.
func (c *cursor) skip() {
	switch c.in[c.pos] {
	case '"':
		c.quoted()
	case '{':
		for c.enter(); c.in[c.pos] != '}'; c.next() {
			c.quoted()
			c.colon()
			c.skip()
		}
		c.pos++
	case '[':
		for c.enter(); c.in[c.pos] != ']'; c.next() {
			c.skip()
		}
		c.pos++
	default:
		c.scalar()
	}
}

// scalar passes a number, true, false or null and returns where it began.
func (c *cursor) scalar() (start int) {
	start = c.pos
	for c.pos < len(c.in) && strings.IndexByte(",]} \t\r\n", c.in[c.pos]) < 0 {
		c.pos++
	}
	return start
}

// colon goes from a member's name to its value.
func (c *cursor) colon() {
	c.space()
	c.pos++
	c.space()
}

// next goes behind a value, to the next one or to the bracket that closes.
func (c *cursor) next() {
	c.space()
	if c.in[c.pos] == ',' {
		c.pos++
		c.space()
	}
}

// enter goes from a bracket to what is within.
func (c *cursor) enter() {
	c.pos++
	c.space()
}

// put replaces what is between start and pos.
func (c *cursor) put(start int, literal []byte) {
	c.out = append(append(c.out, c.in[c.kept:start]...), literal...)
	c.kept = c.pos
}

func (c *cursor) done() json.RawMessage { return append(c.out, c.in[c.kept:]...) }

// blank is a value of the same kind that tells nothing; what is none is "".
func blank(literal string) string {
	switch literal[0] {
	case 't', 'f':
		return "false"
	case 'n':
		return "null"
	}
	return "0"
}
