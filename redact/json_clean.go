package redact

import "strings"

// maxAhead is how much of a string is looked at behind the place where a prefix
// begins, in bytes. What takes longer to tell is walked.
const maxAhead = 160

// glimpseEvery bounds how many places of a document are decoded one by one: one
// in so many bytes. With more it is walked.
const glimpseEvery = 128

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
	taken int  // so far
	view  view // of the last one, whose memory serves the next
	buf   []byte
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
		if g.taken++; g.taken > 16+len(raw)/glimpseEvery {
			return true
		}
		g.look(raw, start, start+len(f.prefix))
	}
	_, _, verdict := f.find(g.text, g.start, g.ended)
	return verdict != absent
}

func (g *glimpse) look(raw string, start, first int) {
	end, ended := stringEnds(raw[:min(len(raw), first+maxAhead)], first)
	g.of, g.text, g.start, g.ended = start+1, raw[:end], start, ended
	if lo := max(0, start-4*lookBehind); strings.IndexByte(raw[lo:end], '\\') >= 0 {
		g.view = view{cuts: g.view.cuts[:0]}
		g.buf = g.view.decode(g.buf[:0], raw[lo:end], ended)
		g.text, g.start = g.view.text, g.view.at(start-lo)
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
