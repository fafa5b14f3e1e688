package redact

import (
	"strconv"
	"strings"
)

// planWalk applies a plan to a payload in one pass.
type planWalk struct {
	cursor
	plan  *Plan
	whole Block
	block Block
	path  []string
	sel   selection // of the block; of the place where an edit has a pointer
	found []Finding
}

// choose finds the edits about the place, where they may differ from before.
func (w *planWalk) choose() { w.sel = w.plan.selected(w.block, w.path) }

// value walks the value at pos, which belongs to the member key; masked is the edit that covers the member it is
// in, nil for none.
func (w *planWalk) value(key string, masked *edit) {
	switch w.in[w.pos] {
	case '{':
		w.object(masked)
	case '[':
		w.array(key, masked)
	case '"':
		w.text(key, masked)
	default:
		start := w.scalar()
		if was := w.in[start:w.pos]; masked != nil && was != blank(was) {
			w.put(start, []byte(blank(was)))
			w.note([]Hit{{Detector: masked.Rule}})
		}
	}
}

func (w *planWalk) object(masked *edit) {
	for w.enter(); w.in[w.pos] != '}'; w.next() {
		before := len(w.found)
		name, start := w.str()
		if covered, hits := w.plan.finds(&w.sel, "", name); len(hits) > 0 {
			name = covered
			w.put(start, quote(covered))
			w.note(hits)
		}
		w.down(name)
		for i := before; i < min(len(w.found), maxPlaces); i++ {
			w.found[i].Pointer = pointerTo(w.path)
		}
		w.colon()
		w.value(name, w.member(name, masked))
		w.up()
	}
	w.pos++
}

func (w *planWalk) array(key string, masked *edit) {
	i := 0
	for w.enter(); w.in[w.pos] != ']'; w.next() {
		w.down(strconv.Itoa(i))
		i++
		outer := w.block
		if w.isBlock() {
			w.block = peek(w.in, w.pos)
			w.choose()
		}
		w.value(key, masked)
		w.up()
		if outer != w.block {
			w.block = outer
			w.choose()
		}
	}
	w.pos++
}

func (w *planWalk) down(step string) {
	w.path = append(w.path, step)
	if w.plan.placed {
		w.choose()
	}
}

func (w *planWalk) up() {
	w.path = w.path[:len(w.path)-1]
	if w.plan.placed {
		w.choose()
	}
}

// member is the edit that covers the member the walk stands at.
func (w *planWalk) member(name string, outer *edit) *edit {
	for _, e := range w.sel.keys {
		if e.names(name) && !keeps(w.whole, w.path) {
			outer = stricter(outer, e)
		}
	}
	return outer
}

func (e *edit) names(member string) bool {
	for _, key := range e.Keys {
		if strings.EqualFold(key, member) {
			return true
		}
	}
	return false
}

func (w *planWalk) text(key string, masked *edit) {
	s, start := w.str()
	sel := w.sel
	if masked != nil {
		sel.whole = masked
		if w.sel.whole != nil {
			sel.whole = stricter(masked, w.sel.whole)
		}
	} else if sel.whole != nil && (keeps(w.whole, w.path) || len(w.path) > 0 && w.path[len(w.path)-1] == "type" && isTypeWord(s)) {
		sel.whole = nil
	}
	covered, hits := w.plan.cover(&sel, key, s)
	if len(hits) == 0 {
		return
	}
	w.put(start, quote(covered))
	w.note(hits)
}

// note adds one finding for each detector of hits.
func (w *planWalk) note(hits []Hit) {
	first := len(w.found)
	for _, h := range hits {
		w.found = addFinding(w.found, first, h.Detector, func() string { return pointerTo(w.path) })
	}
}

func pointerTo(path []string) string {
	var b strings.Builder
	for _, step := range path {
		if b.Len() > maxPlace { // the place is within
			break
		}
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(step))
	}
	return b.String()
}
