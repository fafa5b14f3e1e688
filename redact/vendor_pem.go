package redact

import "strings"

const (
	maxPEMLabel = 64       // bytes of a label
	maxPEM      = 64 << 10 // bytes of a block
	maxPEMHead  = 2 << 10  // bytes of a block before its first line of base64
	maxDashes   = 8        // before a footer
	minPEMLine  = 16       // bytes of a line of base64, save the last one
	minPEMKey   = 6        // bytes of the only line of a block
	maxPEMField = 512      // bytes of a header within a block
	maxGrepName = 200      // bytes before a line's number

	puttyFooter = "Private-MAC: "
)

var (
	pemLabel  = chars("AZ09", " ")
	dash      = chars("--", "")
	pemMarks  = chars("  ", "\t\r\n\"'`>|#*,;:()[]{}.-~")
	pemPlain  = chars("  ", "\t\r\n\"'`>|#*,;:()[]{}.~") // marks that begin nothing else, but for names of files after a line
	pemFiller = chars("", "+/=")
	pemFields = []string{"Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:", "MessageID:", "Subject:",
		"Encryption:", "Public-Lines:", "Private-Lines:", "Key-Derivation:", "Argon2-"}
)

// findPEM covers a block of a private key from its header to the end of its
// footer. A block that was cut off is covered up to its last line of base64: what
// follows a lone header in a log is no key. A block without base64 is none.
func findPEM(s string, start int, final bool) (from, end int, v verdict) {
	first := start + len("-----BEGIN ")
	label := s[first:min(len(s), first+maxPEMLabel)]
	stop := run(label, 0, &pemLabel)
	switch {
	case stop == len(label) && stop < maxPEMLabel && !final:
		return start, start, unsettled
	case stop == len(label) || label[stop] != '-' || !strings.Contains(label[:stop], "PRIVATE KEY"):
		return 0, 0, absent
	}
	return pemBlock(s, start, run(s[:min(len(s), first+maxPEMLabel)], first+stop, &dash), final)
}

// findPuTTY covers the file of a private key of PuTTY.
func findPuTTY(s string, start int, final bool) (from, end int, v verdict) {
	first := start + len("PuTTY-User-Key-File-")
	switch {
	case first+2 > len(s) && !final:
		return start, start, unsettled
	case first+2 > len(s) || !digits[s[first]] || s[first+1] != ':':
		return 0, 0, absent
	}
	line := pemField(s[first:])
	if first+line == len(s) && !final {
		return start, start, unsettled
	}
	return pemBlock(s, start, first+line, final)
}

func pemBlock(s string, start, body int, final bool) (from, end int, v verdict) {
	window := s[:min(len(s), start+maxPEM)]
	end, v = pemBody(window, body, false, final || len(window) < len(s))
	switch {
	case v == unsettled && end == body:
		return start, start, unsettled
	case v == unsettled:
		return start, len(s), unsettled
	}
	return start, end, v
}

// pemGoOn finds the end of a block that has begun.
func pemGoOn(s string, final bool) (end int, v verdict) { return pemBody(s, 0, true, final) }

// piece is what the body of a block is made of.
type piece uint8

const (
	pemOther piece = iota // not of a block
	pemCut                // the text ends too early to tell
	pemMark               // space, quotes, comments, numbers of lines, headers
	pemLine               // base64
	pemEnd                // the footer
)

// pemBody returns the end of what belongs to a block at s[i:]; begun says that
// base64 came before. Unsettled, s[:end] is what surely does.
func pemBody(s string, i int, begun, final bool) (end int, v verdict) {
	first := i
	for end = i; i < len(s); {
		if !begun && i-first > maxPEMHead {
			return end, absent
		}
		n, p := pemPiece(s, i, begun, final)
		i += n
		switch {
		case p == pemCut:
			return end, unsettled
		case p == pemLine:
			begun, end = true, i
		case p == pemEnd && begun:
			return i, present
		case p != pemMark && begun:
			return end, present
		case p != pemMark:
			return end, absent
		}
	}
	switch {
	case !final:
		return end, unsettled
	case !begun:
		return end, absent
	}
	return end, present
}

func pemPiece(s string, i int, begun, final bool) (n int, p piece) {
	if n = pemSimple(s, i); n > 0 {
		return n, pemMark
	}
	if n, p = pemFooter(s[i:], final); p != pemOther {
		return n, p
	}
	if n, p = pemHeader(s, i, final); p != pemOther {
		return n, p
	}
	if n, p = pemSkip(s, i, final); p != pemOther {
		return n, p
	}
	n = run(s, i, &base64ed) - i
	next := i + n
	switch {
	case n == 0:
		return 0, pemOther
	case next == len(s) && !final:
		return 0, pemCut
	case n >= minPEMLine:
		return n, pemLine
	case !begun && n < minPEMKey:
		return 0, pemOther
	case next == len(s):
		return n, pemLine
	}
	return pemLast(s, next, n, final)
}

// pemSimple is the length of a mark of which one look tells that nothing else
// begins there, 0 for none. The name of a file may stand at the begin of a line.
func pemSimple(s string, i int) int {
	switch {
	case i > 0 && (s[i-1] == '\n' || s[i-1] == '\r'):
		return 0
	case pemPlain[s[i]]:
		return 1
	case s[i] == '\\' && len(s)-i >= 6:
		return pemEscape(s[i:])
	case s[i] == '-' && strings.HasPrefix(s[i:], "---------"): // the last of them may begin a footer
		return 1
	}
	return 0
}

// pemLast tells of a short run of n bytes before s[next:]: only the last line of
// a block, or of a part of it, may be short.
func pemLast(s string, next, n int, final bool) (int, piece) {
	for next < len(s) {
		_, p := pemFooter(s[next:], final)
		if p == pemOther {
			_, p = pemHeader(s, next, final)
		}
		switch p {
		case pemEnd, pemMark:
			return n, pemLine
		case pemCut:
			return 0, pemCut
		}
		m, p := pemSkip(s, next, final)
		if p != pemMark {
			return 0, p
		}
		next += m
	}
	if final {
		return n, pemLine
	}
	return 0, pemCut
}
