package redact

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxViews bounds how many layers of encoding are taken off a text: a secret in
// a document in a string of a document in a string, and so on.
const maxViews = 4

// deepest is how many backslashes stand for one at the depth of maxViews.
const deepest = 1 << maxViews

// maxViewed bounds the texts that are decoded, in bytes. A longer one that hides
// something is covered as a whole.
const maxViewed = 16 << 20

// view is a text with one layer of encoding taken off, and the way back.
type view struct {
	text string
	cuts []cut // in order
	end  int   // of what was decoded; an escape that is not complete may follow
}

// cut says that from at on, the view shows what begins at orig in the text. Each
// of its bytes stands for wide bytes there: 1 for what is not encoded. Where wide
// is 0, the bytes up to the next cut stand for what is up to there, as a whole.
type cut struct{ at, orig, wide int32 }

// hides reports whether s holds an escape that stands for a printable ASCII
// character, at any depth of encoding: \u00XX, \/ or %XX. No other encoding we
// read can keep the prefix of a secret from standing in a text as it is.
func hides(s string) bool { return hidesBackslash(s) || hidesPercent(s) }

func hidesBackslash(s string) bool {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return false
		}
		s = s[i+1:]
		if s[0] == '/' || len(s) >= 5 && s[0] == 'u' && s[1] == '0' && s[2] == '0' && '2' <= s[3] && s[3] <= '7' && unhex[s[4]] >= 0 {
			return true
		}
	}
}

func hidesPercent(s string) bool {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 || i+2 >= len(s) {
			return false
		}
		s = s[i+1:]
		if '2' <= s[0] && s[0] <= '7' && unhex[s[1]] >= 0 {
			return true
		}
	}
}

// cutEscape is where an escape begins that the end of s cuts off; len(s) for none.
func cutEscape(s string) int {
	for i := max(0, len(s)-5); i < len(s); i++ {
		if s[i] == '%' && i+2 >= len(s) && run(s, i+1, &hexAny) == len(s) {
			return i
		}
		if s[i] == '\\' && (i+1 == len(s) || s[i+1] == 'u' && run(s, i+2, &hexAny) == len(s)) {
			n := 1
			for n <= i && s[i-n] == '\\' { // all of them may be one escape, further down
				n++
			}
			return i + 1 - (n-1)%deepest - 1
		}
	}
	return len(s)
}

// decode takes one layer of encoding off a text. With final false, an escape
// that its end cuts off is left out.
func decode(s string, final bool) (v view) {
	v.decode(make([]byte, 0, len(s)), s, final)
	return v
}

// decode makes v that of s in the memory b, which it returns.
func (v *view) decode(b []byte, s string, final bool) []byte {
	v.end = len(s)
	if !final {
		v.end = cutEscape(s)
	}
	kept := 0 // s[:kept] is in b
	for i := 0; i < v.end; {
		if s[i] != '\\' && s[i] != '%' {
			i++
			continue
		}
		wide, r := escape(s[i:v.end])
		if wide == 0 {
			i++
			continue
		}
		if kept < i {
			v.cut(len(b), kept, 1)
			b = append(b, s[kept:i]...)
		}
		at := len(b)
		if r < 0 {
			b = append(b, byte(-r-1)) // a byte that is not a character by itself
		} else {
			b = utf8.AppendRune(b, r)
		}
		if len(b) == at+1 {
			v.cut(at, i, wide)
		} else {
			v.cuts = append(v.cuts, cut{int32(at), int32(i), 0})
		}
		i += wide
		kept = i
	}
	if kept < v.end || len(v.cuts) == 0 {
		v.cut(len(b), kept, 1)
		b = append(b, s[kept:v.end]...)
	}
	v.text = view8(b)
	return b
}

// cut notes that from at on each byte stands for wide bytes, unless that is what
// the last cut says already.
func (v *view) cut(at, orig, wide int) {
	if n := len(v.cuts); n == 0 || v.cuts[n-1].wide != int32(wide) {
		v.cuts = append(v.cuts, cut{int32(at), int32(orig), int32(wide)})
	}
}

// escape reads the escape that s begins with: how many bytes it takes, and what
// it stands for, -1-b for a byte above ASCII. It takes none where there is none.
func escape(s string) (wide int, r rune) {
	switch {
	case len(s) >= 3 && s[0] == '%' && unhex[s[1]] >= 0 && unhex[s[2]] >= 0:
		if r = rune(unhex[s[1]]<<4 | unhex[s[2]]); r >= utf8.RuneSelf {
			r = -1 - r
		}
		return 3, r
	case len(s) < 2 || s[0] != '\\':
		return 0, 0
	case s[1] == 'u':
		return unicodeEscape(s)
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return 2, rune("\"\\/\b\f\n\r\t"[i])
	}
	return 0, 0
}

func unicodeEscape(s string) (wide int, r rune) {
	if len(s) < 6 {
		return 0, 0
	}
	r, ok := hex4(s[2:6])
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low, ok := hex4(s[8:12]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return 12, utf16.DecodeRune(r, low)
		}
	}
	return 6, r
}

// from is where what the view shows at i begins in the text.
func (v *view) from(i int) int {
	k := sort.Search(len(v.cuts), func(k int) bool { return int(v.cuts[k].at) > i }) - 1
	return int(v.cuts[k].orig) + (i-int(v.cuts[k].at))*int(v.cuts[k].wide)
}

// to is where what the view shows before i ends in the text.
func (v *view) to(i int) int {
	if i == 0 {
		return 0
	}
	k := sort.Search(len(v.cuts), func(k int) bool { return int(v.cuts[k].at) > i-1 }) - 1
	switch {
	case v.cuts[k].wide > 0:
		return int(v.cuts[k].orig) + (i-int(v.cuts[k].at))*int(v.cuts[k].wide)
	case k+1 < len(v.cuts):
		return int(v.cuts[k+1].orig)
	}
	return v.end
}

// at is where the view shows what begins at i in the text, or what follows it.
func (v *view) at(i int) int {
	k := sort.Search(len(v.cuts), func(k int) bool { return int(v.cuts[k].orig) > i }) - 1
	at, wide := int(v.cuts[k].at), int(v.cuts[k].wide)
	switch {
	case wide > 0:
		at += (i - int(v.cuts[k].orig) + wide - 1) / wide
	case i > int(v.cuts[k].orig) && k+1 < len(v.cuts):
		at = int(v.cuts[k+1].at)
	case i > int(v.cuts[k].orig):
		at = len(v.text)
	}
	return min(at, len(v.text))
}

// unhex is the value of a hexadecimal digit, -1 for other bytes.
var unhex = func() (t [256]int16) {
	for i := range t {
		t[i] = -1
	}
	for i := range int16(10) {
		t['0'+i] = i
	}
	for i := range int16(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// hex4 reads four hexadecimal digits.
func hex4(s string) (r rune, ok bool) {
	for i := range 4 {
		d := unhex[s[i]]
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}
