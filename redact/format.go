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
	place  bool     // it tells where a secret stands, not what it looks like
	find   finder   // never nil
	rest   *charset // bytes that go on with a secret of any length, for streams; nil: it has an end of its own
	goOn   goOn     // tells it instead of rest; nil for most
}

// goOn looks for the end of a secret whose beginning a stream has covered and
// forgotten, save for some bytes of its last line. s[:end] belongs to it; unsettled means that more may, and that what
// follows s[:end] must be kept and shown again.
type goOn func(s string, final bool) (end int, v verdict)

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

// The sets that formats are made of.
var (
	alnum    = chars("azAZ09", "")
	word     = chars("azAZ09", "_")
	token    = chars("azAZ09", "_-")
	dashed   = chars("azAZ09", "-")
	dotted   = chars("azAZ09", "_-.")
	base64ed = chars("azAZ09", "+/=")
	padded   = chars("azAZ09", "_-+/=")
	letters  = chars("azAZ", "")
	digits   = chars("09", "")
	hex      = chars("af09", "")
	hexAny   = chars("afAF09", "")
	hexDash  = chars("af09", "-")
	lowers   = chars("az09", "")
	uppers   = chars("AZ09", "")
	base32   = chars("AZ27", "")
)

// glued makes the prefix count inside a longer word.
func glued(f format) format { f.glued = true; return f }

// run returns the end of the bytes of set that begin at i.
func run(s string, i int, set *charset) int {
	for i < len(s) && set[s[i]] {
		i++
	}
	return i
}

// lookBehind is how many bytes before a prefix a finder and boundary look at;
// a stream keeps as many of what it has passed on.
const lookBehind = 16

// boundary reports whether a word may begin at i. What is still encoded counts
// too: the letter of an escape such as \n, the digits of %3D, \u003d, \x00 and
// \033, and the end of a terminal's sequence.
func boundary(s string, i int) bool {
	if i == 0 || !word[s[i-1]] {
		return true
	}
	switch {
	case i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbfvae0", s[i-1]) >= 0:
		return true
	case i >= 3 && s[i-3] == '%' && hexAny[s[i-2]] && hexAny[s[i-1]]:
		return true
	case i >= 4 && s[i-4] == '\\' && (s[i-3] == 'x' && hexAny[s[i-2]] && hexAny[s[i-1]] || run(s[:i], i-3, &digits) == i):
		return true
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' && run(s[:i], i-4, &hexAny) == i:
		return true
	}
	return letters[s[i-1]] && terminal(s, i-1)
}

// maxSequence bounds a terminal's sequence, in bytes: two colours of three
// numbers each.
const maxSequence = 40

// terminal reports whether the letter at i ends a sequence such as [1;31m. Of
// those that are rarer, what begins them must stand there too.
func terminal(s string, i int) bool {
	j := i - 1
	for j > 0 && i-j < maxSequence && (s[j] == ';' || s[j] == '?' || digits[s[j]]) {
		j--
	}
	switch {
	case j < 0:
		return false
	case s[j] == '[':
		return s[i] == 'm' || s[i] == 'K' || j > 0 && strings.IndexByte("\x1bbBe3", s[j-1]) >= 0
	}
	return s[j] == '(' && j == i-1 && j > 0 && s[j-1] == '\x1b'
}

// at looks for the format at s[start:], where its prefix was found.
func (f *format) at(s string, start int, final bool) (from, end int, v verdict) {
	if !f.glued && !boundary(s, start) {
		return 0, 0, absent
	}
	return f.find(s, start, final)
}
