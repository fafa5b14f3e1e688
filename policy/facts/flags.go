package facts

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PathFlags are the values of [Path.Flags], sorted. What each says:
//
//	backslash     holds a backslash, where that is no separator
//	blank         a segment begins or ends with a blank
//	control       holds a control character
//	dangling      leads to a link whose target does not exist
//	device        below /dev, a reserved name such as NUL, or a device, pipe or socket
//	drive         begins with a letter and a colon, where that is not ordinary
//	home          lies in the owner's home folder, as written or followed
//	invisible     holds characters without width or of direction, or odd blanks
//	mixed_script  a word of a segment mixes letters of several alphabets
//	percent       holds percent-encoding
//	scheme        begins as a URL does
//	tilde         begins with ~
var PathFlags = []string{"backslash", "blank", "control", "dangling", "device", "drive", "home", "invisible", "mixed_script", "percent", "scheme", "tilde"}

// marks are flags as bits, in the order of [PathFlags], and what only the
// resolver wants to know.
type marks uint16

const (
	markBackslash marks = 1 << iota
	markBlank
	markControl
	markDangling
	markDevice
	markDrive
	markHome
	markInvisible
	markMixedScript
	markPercent
	markScheme
	markTilde
	markUnclear // its normal form may name another file
)

var onlyHome = []string{"home"} // the usual case costs nothing

func (m marks) names() []string {
	switch m &^= markUnclear; m {
	case 0:
		return nil
	case markHome:
		return slices.Clip(onlyHome)
	}
	var all []string
	for i, name := range PathFlags {
		if m&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return all
}

// textMarks says what is odd about a path's text.
func textMarks(s string) marks {
	var m marks
	plain := true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < 0x20 || c == 0x7f:
			m |= markControl
			plain = false
		case c >= utf8.RuneSelf:
			plain = false
		case c == '\\' && filepath.Separator != '\\':
			m |= markBackslash
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			m |= markPercent
		case c == ':':
			m |= colonMarks(s, i)
		case c == ' ' && (i == 0 || i == len(s)-1 || separates(s[i-1]) || separates(s[i+1])):
			m |= markBlank
		}
	}
	if !plain {
		m |= wideMarks(s)
	}
	if strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "~") {
		m |= markTilde
	}
	return m | deviceMarks(s)
}

func separates(c byte) bool { return c == '/' || c == '\\' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// colonMarks looks at what a colon at i ends.
func colonMarks(s string, i int) marks {
	word := strings.TrimLeft(s[:i], " \t\r\n")
	for j := 0; j < len(word); j++ {
		c := word[j] | 0x20
		if letter := 'a' <= c && c <= 'z'; !letter && (j == 0 || strings.IndexByte("0123456789+-.", word[j]) < 0) {
			return 0
		}
	}
	switch {
	case len(word) == 1 && (runtime.GOOS != "windows" || i+1 == len(s) || !separates(s[i+1])):
		return markDrive
	case len(word) > 1 && (strings.HasPrefix(s[i:], "://") || strings.EqualFold(word, "file")):
		return markScheme
	}
	return 0
}

// wideMarks looks at text with characters beyond plain ASCII.
func wideMarks(s string) marks {
	var m marks
	for _, r := range s {
		switch {
		case r >= 0x80 && r < 0xa0:
			m |= markControl
		case r > 0x7f && invisible(r):
			m |= markInvisible
		}
	}
	if ambiguous(s) {
		m |= markUnclear
	}
	for seg := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '\\' }) {
		first, _ := utf8.DecodeRuneInString(seg)
		last, _ := utf8.DecodeLastRuneInString(seg)
		if blank(first) || blank(last) {
			m |= markBlank
		}
		if mixedScript(seg) {
			m |= markMixedScript
		}
	}
	return m
}

func blank(r rune) bool { return unicode.IsSpace(r) || r == '\u2800' || r == '\u3164' }

// deviceMarks finds the names that lead to devices on some system.
func deviceMarks(s string) marks {
	if strings.HasPrefix(s, "/dev/") || strings.HasPrefix(s, `\\.\`) || strings.HasPrefix(s, `\\?\`) || strings.HasPrefix(s, `//./`) {
		return markDevice
	}
	for seg := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '\\' }) {
		if len(seg) < 3 || len(seg) > 7 && runtime.GOOS != "windows" {
			continue
		}
		if reserved(seg) {
			return markDevice
		}
	}
	return 0
}

// reserved reports a name that Windows keeps for a device, there also with an
// extension behind it.
func reserved(seg string) bool {
	if runtime.GOOS == "windows" {
		seg, _, _ = strings.Cut(seg, ".")
	}
	seg = strings.TrimRight(seg, " :")
	switch {
	case len(seg) == 3:
		return strings.EqualFold(seg, "nul") || strings.EqualFold(seg, "con") || strings.EqualFold(seg, "aux") || strings.EqualFold(seg, "prn")
	case len(seg) == 4 && seg[3] >= '1' && seg[3] <= '9':
		return strings.EqualFold(seg[:3], "com") || strings.EqualFold(seg[:3], "lpt")
	}
	return strings.EqualFold(seg, "conin$") || strings.EqualFold(seg, "conout$")
}

// marks says what the file system told.
func (at *spot) marks() marks {
	var m marks
	if at.node.mode&(fs.ModeDevice|fs.ModeCharDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 || strings.HasPrefix(at.real, "/dev/") {
		m |= markDevice
	}
	if at.dangling {
		m |= markDangling
	}
	return m
}
