package redact

import "unsafe"

// view8 is b as a string, without a copy. It is only for looking at bytes that
// nobody changes meanwhile.
func view8(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// maxDepth is the deepest nesting of a valid document; encoding/json has the
// same bound.
const maxDepth = 10000

// valid reports what json.Valid does, several times as fast.
func valid(raw []byte) bool {
	c := checker{s: view8(raw)}
	c.space()
	return c.value() && c.i == len(c.s)
}

// checker reads a document. Its methods report whether what they read is right,
// and leave i behind it and the white space that follows.
type checker struct {
	s     string
	i     int
	depth int
}

func (c *checker) space() {
	for c.i < len(c.s) && c.s[c.i] <= ' ' {
		switch c.s[c.i] {
		case ' ', '\t', '\r', '\n':
			c.i++
		default:
			return
		}
	}
}

// take passes a byte and white space behind it.
func (c *checker) take(b byte) bool {
	if c.i == len(c.s) || c.s[c.i] != b {
		return false
	}
	c.i++
	c.space()
	return true
}

func (c *checker) value() bool {
	if c.i == len(c.s) {
		return false
	}
	ok := false
	switch b := c.s[c.i]; b {
	case '{':
		return c.list('}', c.member)
	case '[':
		return c.list(']', c.value)
	case '"':
		ok = c.str()
	case 't':
		ok = c.word("true")
	case 'f':
		ok = c.word("false")
	case 'n':
		ok = c.word("null")
	default:
		ok = c.number()
	}
	c.space()
	return ok
}

// list reads what stands between brackets.
func (c *checker) list(closing byte, one func() bool) bool {
	if c.depth++; c.depth > maxDepth {
		return false
	}
	c.i++
	c.space()
	if !c.take(closing) {
		for {
			if !one() {
				return false
			}
			if c.take(closing) {
				break
			}
			if !c.take(',') {
				return false
			}
		}
	}
	c.depth--
	return true
}

func (c *checker) member() bool {
	if c.i == len(c.s) || c.s[c.i] != '"' || !c.str() {
		return false
	}
	c.space()
	return c.take(':') && c.value()
}

// unusual are the bytes that a string does not simply hold.
var unusual = func() (t [256]bool) {
	for b := range 0x20 {
		t[b] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

func (c *checker) str() bool {
	s := c.s
	for i := c.i + 1; i < len(s); i++ {
		for i+8 <= len(s) && ordinary(s[i:i+8]) {
			i += 8
		}
		for i < len(s) && !unusual[s[i]] {
			i++
		}
		if i == len(s) || s[i] < ' ' {
			return false
		}
		if s[i] == '"' {
			c.i = i + 1
			return true
		}
		n := escapeLength(s[i:])
		if n == 0 {
			return false
		}
		i += n - 1
	}
	return false
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// ordinary reports whether none of 8 bytes is unusual; it may deny it of bytes
// that are not.
func ordinary(b string) bool {
	w := load(b, 0)
	quoted, escaped := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')|(quoted-ones)|(escaped-ones))&^w&highs == 0 && zero(quoted)|zero(escaped) == 0
}

// zero has a bit set if a byte of w is 0.
func zero(w uint64) uint64 { return (w - ones) &^ w & highs }

// escapeLength is the length of the escape that s begins with, 0 if it is wrong.
func escapeLength(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(s) < 6 {
			return 0
		}
		if _, ok := hex4(s[2:6]); ok {
			return 6
		}
	}
	return 0
}

func (c *checker) word(w string) bool {
	if len(c.s)-c.i < len(w) || c.s[c.i:c.i+len(w)] != w {
		return false
	}
	c.i += len(w)
	return true
}

func (c *checker) number() bool {
	if c.i < len(c.s) && c.s[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.s) && c.s[c.i] == '0' {
		c.i++
	} else if !c.digits() {
		return false
	}
	if c.i < len(c.s) && c.s[c.i] == '.' {
		if c.i++; !c.digits() {
			return false
		}
	}
	if c.i < len(c.s) && c.s[c.i]|0x20 == 'e' {
		if c.i++; c.i < len(c.s) && (c.s[c.i] == '+' || c.s[c.i] == '-') {
			c.i++
		}
		return c.digits()
	}
	return true
}

func (c *checker) digits() bool {
	first := c.i
	c.i = run(c.s, c.i, &digits)
	return c.i > first
}
