package redact

import "strings"

// maxAhead is how much of a string is looked at behind the place where a prefix
// begins, in bytes. What takes longer to tell is walked.
const maxAhead = 160

// clean reports whether a valid document holds nothing to cover, as far as its
// bytes tell without decoding: what begins a secret stands in them as it is,
// unless an escape hides it. False says that the document has to be walked.
func (r *rules) clean(raw string) bool {
	if r.encoded || hides(raw) {
		return false
	}
	if r.customs != nil {
		quiet := true
		r.customs.gate(raw, 0, func(int, int) bool { quiet = false; return false })
		if !quiet {
			return false
		}
	}
	var near glimpse
	for j, entries := r.table.next(raw, 0); j >= 0; j, entries = r.table.next(raw, j+2) {
		for k := range entries {
			e := &entries[k]
			start := j - int(e.distance)
			if !e.differs(windowAt(raw, start)) && r.literals[e.literal].matches(raw, start) && near.counts(&r.list[e.literal], raw, start) {
				return false
			}
		}
	}
	return true
}

// glimpse is a part of a document around the place where a prefix begins, with
// the escapes of its string decoded. Rules with the same prefix share it.
type glimpse struct {
	of    int // place in the document, plus 1
	text  string
	start int
	ended bool // the string ends with the text
}

// counts reports whether the prefix at start may begin a secret of the string it
// stands in.
func (g *glimpse) counts(f *rule, raw string, start int) bool {
	if f.class != classVendor {
		return true
	}
	// Where an escape ends a word begins, encoded or not.
	if !f.glued && !boundary(raw, start) {
		return false
	}
	if g.of != start+1 || len(g.text) < g.start+len(f.prefix) {
		g.look(raw, start, start+len(f.prefix))
	}
	_, _, verdict := f.find(g.text, g.start, g.ended)
	return verdict != absent
}

func (g *glimpse) look(raw string, start, first int) {
	end, ended := stringEnds(raw[:min(len(raw), first+maxAhead)], first)
	*g = glimpse{start + 1, raw[:end], start, ended}
	if lo := max(0, start-4*lookBehind); strings.IndexByte(raw[lo:end], '\\') >= 0 {
		v := decode(raw[lo:end], ended)
		g.text, g.start = v.text, v.at(start-lo)
	}
}

// stringEnds is where the string ends in which i stands, if that can be seen.
func stringEnds(raw string, i int) (end int, ended bool) {
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i, true
		case '\\':
			i++
		}
	}
	return len(raw), false
}
