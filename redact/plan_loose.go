package redact

import "strings"

// loose masks what stands behind a quoted key and a colon in a text that is no
// document. What never ends is masked to the end of the text.
func (w *keyWalk) loose(s string) string {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		e, start := w.keyAt(s, i)
		if e == nil {
			continue
		}
		value, end := s[start:], looseEnd(s, start)
		value = value[:end-start]
		masked := w.looseMask(e, value)
		if masked != value {
			b.WriteString(s[kept:start])
			b.WriteString(masked)
			kept = end
			w.hits = append(w.hits, Hit{Detector: e.Rule})
		}
		i = end - 1
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// keyAt finds the edit that names the key which begins with the quotation mark
// at i, and where its value begins; nil where there is none.
func (w *keyWalk) keyAt(s string, i int) (*edit, int) {
	window := s[i+1 : min(len(s), i+2+maxEntry)]
	n := strings.IndexByte(window, '"')
	if n < 0 {
		return nil, 0
	}
	e := w.member(window[:n], nil)
	if e == nil {
		return nil, 0
	}
	rest := strings.TrimLeft(s[i+n+2:], " \t\r\n")
	if !strings.HasPrefix(rest, ":") {
		return nil, 0
	}
	rest = strings.TrimLeft(rest[1:], " \t\r\n")
	return e, len(s) - len(rest)
}

func (w *keyWalk) looseMask(e *edit, value string) string {
	switch {
	case value == "":
		return value
	case value[0] == '"':
		inner := strings.TrimSuffix(value[1:], `"`)
		if inner == "" {
			return value
		}
		return string(quote(e.becomes(w.plan.key, inner)))
	case value[0] == '{' || value[0] == '[':
		return string(quote(e.becomes(w.plan.key, value)))
	}
	return blank(value)
}

// looseEnd is where the value at start ends: a string with its quotation mark,
// what is in brackets with the last one, anything else before a delimiter.
func looseEnd(s string, start int) int {
	depth := 0
	for i := start; i < len(s); i++ {
		switch s[i] {
		case '"':
			if i = stringEnd(s, i); depth == 0 {
				return min(i+1, len(s))
			}
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if s[i] == '}' || s[i] == ']' {
				if depth--; depth == 0 {
					return i + 1
				}
			}
			if depth <= 0 {
				return i
			}
		}
	}
	return len(s)
}

// stringEnd is the place of the quotation mark that ends the string at i, the
// end of the text for none.
func stringEnd(s string, i int) int {
	for i++; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i, len(s))
}
