package control

import (
	"bytes"
	"unicode/utf8"
)

// Sanitize replaces what is no Unicode text: invalid UTF-8 and escaped lone
// surrogates become U+FFFD. What is judged and what is sent on are then the
// same characters for every reader. Valid text is returned unchanged.
func Sanitize(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	return replaceLoneSurrogates(raw)
}

func replaceLoneSurrogates(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		n, escape := readEscape(raw[i:])
		out = append(out, escape...)
		i += n
	}
	return out
}

// readEscape returns the length of the escape at the start of s (a surrogate
// pair counts as one) and what stands for it.
func readEscape(s []byte) (int, []byte) {
	first, ok := unit(s)
	if !ok {
		return 2, s[:2]
	}
	switch {
	case first >= 0xD800 && first < 0xDC00:
		if low, ok := unit(s[6:]); ok && low >= 0xDC00 && low < 0xE000 {
			return 12, s[:12]
		}
		return 6, []byte(`\ufffd`)
	case first >= 0xDC00 && first < 0xE000:
		return 6, []byte(`\ufffd`)
	}
	return 6, s[:6]
}

// unit reads a \uXXXX escape.
func unit(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}
