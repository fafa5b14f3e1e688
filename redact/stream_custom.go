package redact

import "strings"

// customs runs the user's patterns over what is about to be passed on, and holds
// back the line that is not complete where one of them may find something in it.
func (t *Stream) customs(s string, out *outcome, whole bool) {
	if t.on == nil {
		t.on = new(gates)
	}
	if hold := t.line(s); !whole && hold < out.hold && len(s)-hold <= MaxHeld {
		out.hold = hold
		out.trim()
	}
	out.spans = t.rules.custom(out.spans, s[:out.hold], t.lo, t.on)
}

// line is where in the line that is not complete a find may begin; len(s) for
// nowhere.
func (t *Stream) line(s string) int {
	c := t.rules.customs
	first := t.lo + strings.LastIndexByte(s[t.lo:], '\n') + 1
	for n := range c.list {
		if c.list[n].always || t.on[n] {
			return first
		}
	}
	hold := len(s)
	c.gate(s, t.lo, func(n, start int) bool {
		if start < first {
			hold = first // its text holds the word
			return false
		}
		hold = min(hold, start)
		return true
	})
	return min(hold, c.partial(s, first))
}

// partial is where the longest end of s[lo:] begins that may be the beginning of
// a word; len(s) for none.
func (c *customs) partial(s string, lo int) int {
	hold := len(s)
	for i := range c.words {
		w := c.words[i].text
		for start := max(lo, len(s)-len(w)+1); start < hold; start++ {
			if equalFold(s[start:], w[:len(s)-start]) {
				hold = start
			}
		}
	}
	return hold
}
