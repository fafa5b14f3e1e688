package redact

import (
	"slices"
	"strings"
)

// passOver drops what goes on with the secret that was covered, and reports
// whether it ended.
func (t *Stream) passOver(final bool) bool {
	s := view8(t.buf[t.lo:])
	end, ended := t.open.goesOn(s, final)
	if !ended && len(s)-end > MaxHeld {
		end = max(end, lineBegin(s))
	}
	t.buf = slices.Delete(t.buf, t.lo, t.lo+end)
	if ended {
		t.open = nil
	}
	return ended
}

// goesOn says how much of s belongs to a secret that began before it, and
// whether it ends there. What cannot be told yet is left to be asked again.
func (f *rule) goesOn(s string, final bool) (end int, ended bool) {
	if s == "" {
		return 0, final
	}
	if f.goOn != nil {
		end, v := f.goOn(s, final)
		return end, v != unsettled
	}
	rest := f.rest
	if rest == nil {
		rest = &unbroken
	}
	for end < len(s) {
		wide, b, cut := layered(s[end:])
		switch {
		case cut && !final:
			return end, false
		case wide == 0 || b > '~' || !rest[b]:
			return end, true
		}
		end += wide
	}
	return end, final
}

// unbroken are the bytes that go on with a secret of which nothing better is
// known.
var unbroken = printable(" \"'`<>\\")

// layered reads a byte, or an escape that stands for one at any depth of
// encoding; wide 0 says that it is none we can read. cut says that s ends too
// early to tell.
func layered(s string) (wide int, b byte, cut bool) {
	switch s[0] {
	case '%':
		n := 1
		for strings.HasPrefix(s[n:], "25") {
			n += 2
		}
		if len(s) < n+2 {
			return 1, s[0], run(s, n, &hexAny) == len(s)
		}
		if hi, lo := unhex[s[n]], unhex[s[n+1]]; hi >= 0 && lo >= 0 {
			return n + 2, byte(hi<<4 | lo), false
		}
	case '\\':
		n := 0
		for n < len(s) && s[n] == '\\' {
			n++
		}
		switch {
		case n == len(s) || s[n] == 'u' && len(s) < n+5 && run(s, n+1, &hexAny) == len(s):
			return 0, 0, true
		case s[n] == '/':
			return n + 1, '/', false
		case s[n] == 'u' && len(s) >= n+5 && hides(s[n-1:n+5]):
			return n + 5, byte(unhex[s[n+3]]<<4 | unhex[s[n+4]]), false
		}
		return 0, 0, false
	}
	return 1, s[0], false
}
