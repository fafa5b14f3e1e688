package pdk

import (
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a JSON string at the walker's place. Like encoding/json, which the host
// uses, it takes half a surrogate pair and bytes that are no UTF-8 for U+FFFD:
// offsets in the text are the host's.
func (w *walker) str() (string, bool) {
	if w.i >= len(w.text) || w.text[w.i] != '"' {
		return "", false
	}
	w.i++
	start := w.i
	for w.i < len(w.text) {
		switch c := w.text[w.i]; {
		case c == '"':
			w.i++
			return w.text[start : w.i-1], true
		case c == '\\' || c >= utf8.RuneSelf:
			return w.decoded(append([]byte(nil), w.text[start:w.i]...))
		}
		w.i++
	}
	return "", false
}

func (w *walker) decoded(b []byte) (string, bool) {
	for w.i < len(w.text) {
		switch c := w.text[w.i]; {
		case c == '"':
			w.i++
			return string(b), true
		case c == '\\':
			r, ok := w.escape()
			if !ok {
				return "", false
			}
			b = utf8.AppendRune(b, r)
		default:
			r, n := utf8.DecodeRuneInString(w.text[w.i:])
			b = utf8.AppendRune(b, r)
			w.i += n
		}
	}
	return "", false
}

// escape reads one after its backslash, and both halves of a surrogate pair.
func (w *walker) escape() (rune, bool) {
	if w.i+1 >= len(w.text) {
		return 0, false
	}
	c := w.text[w.i+1]
	if c == 'u' {
		return w.unicode()
	}
	w.i += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

func (w *walker) unicode() (rune, bool) {
	r, ok := w.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	before := w.i
	if second, ok := w.hex4(); ok {
		if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
			return pair, true
		}
	}
	w.i = before
	return utf8.RuneError, true
}

// hex4 reads a backslash, u and four digits.
func (w *walker) hex4() (r rune, ok bool) {
	if w.i+6 > len(w.text) || w.text[w.i] != '\\' || w.text[w.i+1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(w.text[w.i+2 : w.i+6]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	w.i += 6
	return r, true
}
