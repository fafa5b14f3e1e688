package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// odd doubts characters that make a text read otherwise than it runs.
func (a *analysis) odd(text string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			a.oddRunes(text[i:])
			return
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
			a.Features.ControlChars = true
			a.doubt(oddReason)
		}
	}
}

const oddReason = "control or invisible characters"

func (a *analysis) oddRunes(text string) {
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r) || r == unicode.ReplacementChar:
			a.Features.ControlChars = true
			a.doubt(oddReason)
		case r > 0x7f && invisible(r):
			a.Features.InvisibleChars = true
			a.doubt(oddReason)
		}
	}
}

// invisible reports characters that show nothing, or a blank that no shell
// takes for one.
func invisible(r rune) bool {
	switch r {
	case 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0: // fillers and joiners that are no format characters
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) || unicode.Is(unicode.Zs, r) || unicode.Is(unicode.Variation_Selector, r)
}

// alphabets whose letters look like those of another.
var alphabets = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee,
	unicode.Coptic, unicode.Georgian, unicode.Lisu, unicode.Hebrew, unicode.Deseret, unicode.Gothic}

// alphabet numbers the alphabet of a letter; 0 is none of them. Styled forms
// of Latin letters count as an alphabet of their own.
func alphabet(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case r >= 0x1D400 && r <= 0x1D7FF, r >= 0xFF21 && r <= 0xFF5A, r >= 0x2100 && r <= 0x214F, r >= 0x24B6 && r <= 0x24E9:
		return -1
	}
	for i, table := range alphabets {
		if unicode.Is(table, r) {
			return i + 1
		}
	}
	return 0
}

// mixedScript reports letters of several alphabets within one run of letters,
// digits and underscores.
func mixedScript(text string) bool {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	seen := 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || r >= 0x24B6 && r <= 0x24E9:
			if now := alphabet(r); now != 0 {
				if seen != 0 && now != seen {
					return true
				}
				seen = now
			}
		case unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
		default:
			seen = 0
		}
	}
	return false
}

// shortestAddress is the length of the shortest spelling that [NamesMetadata] knows.
const shortestAddress = len("a9fe:a9fe")

// namesMetadata is [NamesMetadata] behind a cheap look for a run of digits
// that is long enough.
func namesMetadata(text string) bool {
	run := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i] | 0x20; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c == 'x', text[i] == '.', text[i] == ':':
			if run++; run >= shortestAddress {
				return NamesMetadata(text)
			}
		default:
			run = 0
		}
	}
	return false
}
