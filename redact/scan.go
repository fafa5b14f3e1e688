package redact

import "slices"

// Span is a secret in a text: s[From:To].
type Span struct {
	From, To int
	Detector string
}

// class orders detectors: of finds that overlap, the name of the lower one counts.
type class uint8

const (
	classVendor class = iota
	classCustom
	classContext
)

// rule is a format, and how it is looked for.
type rule struct {
	format
	class class
	fold  bool // case does not matter; the prefix is in lower case
}

// found is what a rule found.
type found struct {
	rule             int
	start, from, end int
	verdict          verdict
}

// outcome is what is known of a text, of which more may follow.
type outcome struct {
	spans []Span
	led   []led // in streams: what of spans has a beginning that is not covered
	hold  int   // s[hold:] may be, or go on as, a secret; len(s) for none
	tip   int   // hold, were it not for secrets before it that depend on what begins there
	open  *rule // of the secret whose prefix stands at start; nil where only a prefix may have begun
	start int
	from  int  // s[from:] is what there is of it
	none  bool // that may be nothing
}

// led says that what is covered from from on was found by what stands at start.
type led struct{ start, from int }

// scan finds the secrets that begin in s[lo:] from left to right. What is found
// first is not looked at again. With final false it ends where nothing can be
// said before more text is known.
func (r *rules) scan(s string, lo int, final bool) outcome {
	out := outcome{hold: len(s)}
	done, freed := lo, -1 // s[lo:done] is settled; a secret ends at freed, so that a word may begin there
	for i := lo; ; {
		m, ok := r.first(s, i, freed, final)
		if !ok {
			break
		}
		if m.verdict == unsettled {
			out.hold, out.open, out.start, out.from = m.start, &r.list[m.rule], m.start, m.from
			out.none = m.from >= m.end
			break
		}
		if r.list[m.rule].class == classContext { // better known ones may stand in its value
			out.add(r, m, final)
			i = m.start + 1
			continue
		}
		out.spans = r.between(out.spans, s, m)
		var chain []found // from right to left
		for b, ok := r.before(s, done, freed, m.start); ok; b, ok = r.before(s, done, freed, b.start) {
			chain = append(chain, b)
		}
		for _, b := range slices.Backward(chain) {
			out.spans = r.insert(out.spans, b)
		}
		out.add(r, m, final)
		i, done, freed = m.end, max(done, m.end), m.end
	}
	if final {
		return out
	}
	out.hold = min(out.hold, r.partial(s, done, freed))
	out.tip = out.hold
	for b, ok := r.before(s, done, freed, out.hold); ok && len(s)-out.hold <= MaxHeld; b, ok = r.before(s, done, freed, b.start) {
		out.hold = b.start
	}
	out.trim()
	return out
}

// add inserts a find.
func (o *outcome) add(r *rules, m found, final bool) {
	if !final && m.start < m.from {
		o.led = append(o.led, led{m.start, m.from})
	}
	o.spans = r.insert(o.spans, m)
}

// between finds the secrets between the prefix of one and what it covers, as the
// name of a user in an address.
func (r *rules) between(spans []Span, s string, m found) []Span {
	for i := m.start + 1; i < m.from; {
		inner, ok := r.first(s[:m.end], i, -1, true)
		if !ok || inner.start >= m.from {
			break
		}
		i = inner.start + 1
		if inner.end <= m.from {
			spans = r.insert(spans, inner)
			i = inner.end
		}
	}
	return spans
}

// first is the leftmost secret, or beginning of one, in s[i:].
func (r *rules) first(s string, i, freed int, final bool) (best found, ok bool) {
	t, text := r.table, s
	at, w := -1, window{} // what stands at the last place that was looked at
	starts := unasked     // whether a word may begin there
	for j, entries := t.next(text, i); j >= 0; j, entries = t.next(text, j+2) {
		for k := range entries {
			e := &entries[k]
			start, n := j-int(e.distance), int(e.literal)
			if start < i {
				continue
			}
			if start != at {
				at, w, starts = start, windowAt(s, start), unasked
			}
			if e.differs(w) || ok && (start > best.start || start == best.start && n >= best.rule) {
				continue
			}
			f := &r.list[n]
			if !f.glued && starts == unasked {
				starts = answer(start == freed || boundary(s, start))
			}
			if !f.glued && starts == no || !(w.whole && e.fold == 0 && len(f.prefix) <= 8 || r.literals[n].matches(s, start)) {
				continue
			}
			from, end, v := f.find(s, start, final)
			if v == absent || v == present && r.spared(f, s, from, end) {
				continue
			}
			best, ok = found{n, start, from, end, v}, true
			// One that begins further left shows a pair not much further right.
			text = s[:min(len(text), start+t.reach+2)]
		}
	}
	return best, ok
}

// asked is what is known of a question.
type asked uint8

const (
	unasked asked = iota
	no
	yes
)

func answer(b bool) asked {
	if b {
		return yes
	}
	return no
}

// spared reports whether what a rule found is a placeholder, or within one. That
// is not asked of vendor formats: their names hold none of their secrets.
func (r *rules) spared(f *rule, s string, from, end int) bool {
	return f.class != classVendor && r.placeholderAround(s, from, end)
}

// maxBefore bounds how far before a secret another one is looked for that ends
// where it begins.
const maxBefore = 256

// joined are the bytes that tokens are made of.
var joined = chars("azAZ09", "_-.~+/=")

// before finds a secret that ends at to, because what begins there is going to
// be covered: a token counts only where no letter or digit follows it, and now
// a placeholder does.
func (r *rules) before(s string, lo, freed, to int) (found, bool) {
	if to <= lo || to < len(s) && !joined[s[to]] || !joined[s[to-1]] {
		return found{}, false
	}
	for start := max(lo, to-maxBefore); start+1 < to; start++ {
		if two := uint16(s[start]) | uint16(s[start+1])<<8; r.begins[two>>6]>>(two&63)&1 == 0 {
			continue
		}
		for _, n := range r.byFirst[s[start]] {
			f := &r.list[n]
			if f.class == classContext || !r.literals[n].matches(s[:to], start) || !f.glued && start != freed && !boundary(s, start) {
				continue
			}
			if from, end, v := f.find(s[:to], start, true); v == present && end == to && from == start && !r.spared(f, s, from, end) {
				return found{int(n), start, from, end, v}, true
			}
		}
	}
	return found{}, false
}

// partial is where the longest end of s[lo:] begins that may be the beginning of
// a prefix; len(s) for none.
func (r *rules) partial(s string, lo, freed int) int {
	for start := max(lo, len(s)-r.longest+1); start < len(s); start++ {
		for _, n := range r.byFirst[s[start]] {
			if l := &r.literals[n]; len(l.text) > len(s)-start && (&literal{l.text[:len(s)-start], l.fold}).matches(s, start) &&
				(r.list[n].glued || start == freed || boundary(s, start)) {
				return start
			}
		}
	}
	return len(s)
}

// insert adds a find in its place; finds that overlap become one.
func (r *rules) insert(spans []Span, m found) []Span {
	return insertSpan(spans, Span{m.from, m.end, r.list[m.rule].kind})
}

func insertSpan(spans []Span, sp Span) []Span {
	i := len(spans)
	for i > 0 && spans[i-1].To > sp.From {
		i--
	}
	j := i
	for ; j < len(spans) && spans[j].From < sp.To; j++ {
		sp = united(spans[j], sp)
	}
	return slices.Replace(spans, i, j, sp)
}

// united covers both of two spans under the name of what tells most: of a format
// before one that only its surroundings tell, then of the longer.
func united(a, b Span) Span {
	name := a.Detector
	if b.Detector != a.Detector && (a.Detector == contextKind || b.Detector != contextKind && b.To-b.From > a.To-a.From) {
		name = b.Detector
	}
	return Span{min(a.From, b.From), max(a.To, b.To), name}
}
