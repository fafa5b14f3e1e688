package redact

import (
	"encoding/base64"
	"strings"
)

const (
	maxEncodedLabel = 160 // bytes of base64 in which the label must stand
	minWrapped      = 56  // bytes of a line of base64 that goes on in the next one
)

// encodedPEM makes the formats of "-----BEGIN " in base64, for each place at
// which it may stand among the three bytes that become four characters.
func encodedPEM() (out []format) {
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("xx"[:shift] + "-----BEGIN xx"))
		// Characters that also hold bits of what stands before or behind are left out.
		first, last := (shift*8+5)/6, (shift+len("-----BEGIN "))*8/6
		out = append(out, format{kind: "private-key", prefix: text[first:last], glued: true, goOn: encodedGoOn,
			find: func(s string, start int, final bool) (from, end int, v verdict) {
				return findEncodedPEM(s, start, (4-first%4)%4, final)
			}})
	}
	return out
}

// fromURLs makes base64 of that of URLs.
var fromURLs = strings.NewReplacer("-", "+", "_", "/")

var backslash = chars("", `\`)

var base64any = chars("azAZ09", "+/-_")

// findEncodedPEM covers a run of base64, also over lines, that begins with the
// header of a private key. From s[start+skip:] on, four characters are three bytes.
func findEncodedPEM(s string, start, skip int, final bool) (from, end int, v verdict) {
	label, whole := decodeSome(s, start+skip)
	key := strings.Contains(label, "PRIVATE KEY")
	switch {
	case !key && !whole && !final:
		return start, start, unsettled
	case !key:
		return 0, 0, absent
	}
	if end, v = encodedEnd(s, start, false, final); v == unsettled {
		end = len(s)
	}
	return start, end, v
}

func encodedGoOn(s string, final bool) (end int, v verdict) { return encodedEnd(s, 0, true, final) }

// encodedEnd returns the end of the lines of base64 at s[end:]; inside says that
// the first of them began earlier.
func encodedEnd(s string, end int, inside, final bool) (int, verdict) {
	for {
		line := end
		end = run(s, end, &base64any)
		for end < len(s) && s[end] == '=' {
			end++
		}
		next := lineBreak(s, end)
		more := run(s, next, &base64any)
		switch {
		case more == len(s) && !final:
			return end, unsettled
		case next == end || end-line < minWrapped && !inside || end > 0 && s[end-1] == '=' || more-next < minPEMLine:
			return end, present // a line that is shorter holds nothing but the end of the footer
		}
		end, inside = next, false
	}
}

// decodeSome decodes the beginning of a run of base64; whole is false where more
// text could tell more.
func decodeSome(s string, i int) (text string, whole bool) {
	var b strings.Builder
	for i < len(s) && b.Len() < maxEncodedLabel {
		if !base64any[s[i]] {
			next := lineBreak(s, i)
			if next == i {
				break
			}
			i = next
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	label := fromURLs.Replace(b.String())
	out, err := base64.RawStdEncoding.DecodeString(label[:len(label)/4*4])
	if err != nil {
		return "", true
	}
	return string(out), i < len(s) || b.Len() == maxEncodedLabel
}

// lineBreak passes the end of a line, plain or escaped, and the indent after it.
func lineBreak(s string, i int) int {
	first := i
	for i < len(s) {
		switch {
		case s[i] == '\n' || s[i] == '\r' || i > first && (s[i] == ' ' || s[i] == '\t'):
			i++
		case s[i] == '\\':
			n := run(s[:min(len(s), i+deepest)], i, &backslash)
			if n == len(s) || s[n] != 'n' && s[n] != 'r' {
				return i
			}
			i = n + 1
		default:
			return i
		}
	}
	return i
}
