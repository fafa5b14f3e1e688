package redact

import "strings"

// verdict is what a finder says of the text from a position on.
type verdict uint8

const (
	absent    verdict = iota // no secret begins there, whatever may follow
	unsettled                // the text ends too early to tell, or in the middle of a secret
	present                  // a secret, and its end is known
)

// finder looks for a secret whose prefix stands at s[start:]. With final false
// more text may follow, so that what runs into the end is unsettled; with final
// true nothing is. s[from:end] is what to cover, start <= from < end; of an
// unsettled secret it is what is there so far, from == end when it may be none.
type finder func(s string, start int, final bool) (from, end int, v verdict)

// format is one form of a kind of secret: a literal prefix, and a finder that
// looks at what surrounds it.
type format struct {
	kind   string   // name of the detector
	prefix string   // 3 bytes at least, of printable ASCII without " and \
	glued  bool     // the prefix is telling enough to count inside a longer word
	find   finder   // never nil
	rest   *charset // bytes that go on with a secret of any length, for streams; nil: it has an end of its own
}

// charset is a set of bytes.
type charset [256]bool

func chars(ranges string, extra string) (c charset) {
	for i := 0; i+1 < len(ranges); i += 2 {
		for b := int(ranges[i]); b <= int(ranges[i+1]); b++ {
			c[b] = true
		}
	}
	for i := range len(extra) {
		c[extra[i]] = true
	}
	return c
}

var (
	alnum   = chars("azAZ09", "")
	word    = chars("azAZ09", "_")
	token   = chars("azAZ09", "_-")
	dashed  = chars("azAZ09", "-")
	awsBody = chars("AZ27", "")
)

// atLeast is prefix and then n bytes of body or more.
func atLeast(kind, prefix string, body *charset, n int) format {
	return format{kind: kind, prefix: prefix, rest: body, find: func(s string, start int, final bool) (int, int, verdict) {
		first := start + len(prefix)
		end := run(s, first, body)
		switch {
		case end == len(s) && !final:
			return start, end, unsettled
		case end-first < n:
			return 0, 0, absent
		}
		return start, end, present
	}}
}

// exactly is prefix and then n bytes of body, with no letter, digit or _ after them.
func exactly(kind, prefix string, body *charset, n int) format {
	return format{kind: kind, prefix: prefix, find: func(s string, start int, final bool) (int, int, verdict) {
		first := start + len(prefix)
		end := run(s, first, body)
		switch {
		case end-first > n:
			return 0, 0, absent
		case end == len(s) && !final:
			return start, end, unsettled
		case end-first < n || end < len(s) && word[s[end]]:
			return 0, 0, absent
		}
		return start, end, present
	}}
}

// glued makes the prefix count inside a longer word.
func glued(f format) format { f.glued = true; return f }

// run returns the end of the bytes of set that begin at i.
func run(s string, i int, set *charset) int {
	for i < len(s) && set[s[i]] {
		i++
	}
	return i
}

// boundary reports whether a word may begin at i. The letter of an escape
// such as \n counts as one, because texts hold JSON that is still encoded.
func boundary(s string, i int) bool {
	if i == 0 || !word[s[i-1]] {
		return true
	}
	return i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0
}

// at looks for the format at s[start:], where its prefix was found.
func (f *format) at(s string, start int, final bool) (from, end int, v verdict) {
	if !f.glued && !boundary(s, start) {
		return 0, 0, absent
	}
	return f.find(s, start, final)
}
