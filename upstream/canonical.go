package upstream

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// canonical writes each character of the strings of a JSON document in one way,
// that of quote, so that a text can be looked for whatever escapes hide it.
func canonical(doc []byte) []byte {
	if !bytes.Contains(doc, []byte(`\u`)) && !bytes.Contains(doc, []byte(`\/`)) {
		return doc
	}
	out := make([]byte, 0, len(doc))
	for i := 0; i < len(doc); {
		next := bytes.IndexByte(doc[i:], '\\')
		if next < 0 || i+next+1 == len(doc) {
			return append(out, doc[i:]...)
		}
		out = append(out, doc[i:i+next]...)
		i += next
		switch r, size := escaped(doc[i:]); {
		case size > 0:
			out = appendQuoted(out, r)
			i += size
		case doc[i+1] == '/':
			out = append(out, '/')
			i += 2
		default:
			out = append(out, doc[i], doc[i+1])
			i += 2
		}
	}
	return out
}

// escaped reads a \uXXXX, or two of them that make one character.
func escaped(b []byte) (r rune, size int) {
	first, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(first) {
		if second, ok := unit(b[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 12
			}
		}
	}
	return first, 6 // half a pair becomes U+FFFD
}

func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// quote appends s as it stands in a JSON string.
func quote(to []byte, s string) []byte {
	for _, r := range s {
		to = appendQuoted(to, r)
	}
	return to
}

func appendQuoted(to []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(to, '\\', byte(r))
	case '\b':
		return append(to, `\b`...)
	case '\f':
		return append(to, `\f`...)
	case '\n':
		return append(to, `\n`...)
	case '\r':
		return append(to, `\r`...)
	case '\t':
		return append(to, `\t`...)
	}
	if r < ' ' {
		return append(to, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	}
	return utf8.AppendRune(to, r)
}
