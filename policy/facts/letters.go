package facts

import (
	"strings"
	"unicode"
)

// trim removes what the CLI's own trim removes.
func trim(s string) string {
	if s == "" || s[0] > ' ' && s[0] < 0x7f && s[len(s)-1] > ' ' && s[len(s)-1] < 0x7f {
		return s
	}
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

// ambiguous reports text whose Unicode normal form may name another file: the
// CLI normalises paths, and a link may lie under the normalised name.
func ambiguous(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		switch {
		case r < 0x300:
			return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xad
		case r == unicode.ReplacementChar || unicode.Is(unicode.M, r) || unicode.Is(unicode.Cf, r):
			return true
		case r >= 0x1100 && r <= 0x11FF, r >= 0x1F00 && r <= 0x206F, r >= 0x2100 && r <= 0x214F:
			return true
		case r >= 0xF900 && r <= 0xFAFF, r >= 0x2F800 && r <= 0x2FA1F:
			return true
		}
		return r == 0x374 || r == 0x37E || r == 0x387 || r == 0x2329 || r == 0x232A
	})
}

// fold maps letters that some file system takes for the same to one of them,
// the Kelvin sign and the long s included.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// visible drops what some file systems ignore in names.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0x7f && invisible(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
