package pdk

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// Quote returns a text as a JSON string. What is no UTF-8 becomes U+FFFD.
func Quote(text string) string {
	return string(appendQuoted(make([]byte, 0, len(text)+2), text))
}

func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text { // ill-formed bytes come as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r < 0x20 || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// object builds a JSON object member by member.
type object struct{ b []byte }

func (o *object) key(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(appendQuoted(o.b, name), ':')
}

func (o *object) text(name, value string) {
	o.key(name)
	o.b = appendQuoted(o.b, value)
}

func (o *object) raw(name, json string) {
	o.key(name)
	o.b = append(o.b, json...)
}

func (o *object) end() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}
