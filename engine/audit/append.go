package audit

import (
	"strconv"
	"unicode/utf8"
)

// appendString appends s as encoding/json does with HTML left as it is.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = append(b, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case r == utf8.RuneError:
			b = append(b, `\ufffd`...)
		default:
			b = append(b, `\u202`...)
			b = append(b, hexDigits[r&15])
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// object appends members to one object and leaves empty ones out.
type object struct {
	b    []byte
	some bool
}

func (o *object) name(n string) {
	if o.some {
		o.b = append(o.b, ',')
	}
	o.some = true
	o.b = append(append(append(o.b, '"'), n...), '"', ':')
}

func (o *object) must(n, s string) {
	o.name(n)
	o.b = appendString(o.b, s)
}

func (o *object) text(n, s string) {
	if s != "" {
		o.must(n, s)
	}
}

func (o *object) number(n string, v int64) {
	o.name(n)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) list(n string, all []string) {
	for i, s := range all {
		if i == 0 {
			o.name(n)
			o.b = append(o.b, '[')
		} else {
			o.b = append(o.b, ',')
		}
		o.b = appendString(o.b, s)
	}
	if len(all) > 0 {
		o.b = append(o.b, ']')
	}
}

// open begins an object as a member; close ends it.
func (o *object) open(n string) {
	o.name(n)
	o.b, o.some = append(o.b, '{'), false
}

func (o *object) close() { o.b, o.some = append(o.b, '}'), true }
