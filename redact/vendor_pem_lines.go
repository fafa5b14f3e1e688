package redact

import "strings"

// pemFooter looks for a footer at the beginning of s.
func pemFooter(s string, final bool) (n int, p piece) {
	cut := pemCut
	if final {
		cut = pemOther
	}
	if rest, ok := strings.CutPrefix(s, puttyFooter); ok {
		if n = run(rest, 0, &hexAny); n == len(rest) && !final {
			return 0, pemCut
		}
		return len(puttyFooter) + n, pemEnd
	}
	opened := run(s[:min(len(s), maxDashes)], 0, &dash)
	switch {
	case opened == len(s) && opened > 0 && opened <= 5:
		return 0, cut
	case opened < 4:
		return 0, pemOther
	}
	rest := strings.TrimPrefix(s[opened:], " ")
	n = run(rest[:min(len(rest), maxPEMLabel)], 0, &pemLabel)
	switch {
	case n == len(rest) && strings.HasPrefix("END ", rest[:min(n, 4)]):
		return 0, cut
	case !strings.HasPrefix(rest, "END ") || n == len(rest) || !strings.Contains(rest[:n], "PRIVATE KEY"):
		return 0, pemOther
	}
	closed := run(rest[:min(len(rest), n+opened)], n, &dash) // more may begin the next block
	if closed == len(rest) && closed-n < opened && !final {
		return 0, pemCut
	}
	return len(s) - len(rest) + closed, pemEnd
}

// pemHeader passes the line of a header within a block.
func pemHeader(s string, i int, final bool) (n int, p piece) {
	for _, f := range pemFields {
		switch {
		case strings.HasPrefix(s[i:], f):
			if n = pemField(s[i:]); i+n == len(s) && !final {
				return 0, pemCut
			}
			return n, pemMark
		case !final && strings.HasPrefix(f, s[i:]):
			return 0, pemCut
		}
	}
	if !final && strings.HasPrefix(puttyFooter, s[i:]) {
		return 0, pemCut
	}
	return 0, pemOther
}

// pemSkip passes what else may stand between the lines of a block.
func pemSkip(s string, i int, final bool) (n int, p piece) {
	if n = pemNumber(s, i); n > 0 {
		return n, pemMark
	}
	if n = run(s, i, &digits); n == len(s) && n > i && !final { // of a line, or not
		return 0, pemCut
	}
	switch {
	case s[i] == '\\':
		return pemEscape(s[i:]), pemMark
	case pemMarks[s[i]]:
		return 1, pemMark
	case strings.HasPrefix(s[i:], "→"):
		return len("→"), pemMark
	}
	n = run(s, i, &pemFiller) - i
	switch {
	case n == 0 || n < run(s, i, &base64ed)-i:
		return 0, pemOther
	case i+n == len(s) && !final:
		return 0, pemCut
	}
	return n, pemMark
}

// pemEscape is the length of an escape such as \n or \u000a.
func pemEscape(s string) int {
	switch {
	case len(s) >= 6 && s[1] == 'u':
		return 6
	case len(s) >= 2 && strings.IndexByte("nrt", s[1]) >= 0:
		return 2
	}
	return 1
}

// pemField is the length of a header's line, up to its end.
func pemField(s string) int {
	line := s[:min(len(s), maxPEMField)]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	if i := strings.Index(line, `\n`); i >= 0 {
		line = line[:i]
	}
	return len(line)
}

// pemNumber is the length of the number of a line, with the name of a file
// before it as grep writes it.
func pemNumber(s string, i int) int {
	n := run(s, i, &digits) - i
	if n > 0 && n <= 7 && i+n < len(s) && !base64ed[s[i+n]] {
		return n
	}
	if i == 0 || s[i-1] != '\n' && s[i-1] != '\r' {
		return 0
	}
	for j := i + 1; j < len(s) && j-i < maxGrepName && s[j] > ' '; j++ {
		if s[j-1] != ':' && s[j-1] != '-' {
			continue
		}
		if k := run(s, j, &digits); k > j && k-j <= 7 && k < len(s) && s[k] == s[j-1] {
			return k + 1 - i
		}
	}
	return 0
}
