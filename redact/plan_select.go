package redact

import "slices"

// selection is what of a plan is about one text.
type selection struct {
	whole *edit   // replaces the text, nil for none
	keys  []*edit // look into JSON in the text, and at members below
	finds []*edit // say what becomes of finds
	wide  bool    // further detectors are asked for
	cut   *edit   // nil for none
}

// selected finds the edits about a text of a block at a place.
func (p *Plan) selected(b Block, path []string) (sel selection) {
	for i := range p.edits {
		e := &p.edits[i]
		switch {
		case !e.about(b) || !below(path, e.pointer):
		case e.Action == Truncate:
			if sel.cut == nil || e.MaxBytes < sel.cut.MaxBytes {
				sel.cut = e
			}
		case len(e.Detectors) > 0:
			sel.wide = sel.wide || e.wide
			sel.finds = append(sel.finds, e)
		case len(e.Keys) > 0:
			sel.keys = append(sel.keys, e)
		default:
			sel.whole = stricter(sel.whole, e)
		}
	}
	if !slices.ContainsFunc(sel.finds, func(e *edit) bool { return e.Action != Redact }) {
		sel.finds = nil // all of them become what finds become anyway
	}
	return sel
}

// stricter is the edit that tells less; the first of equals. a may be nil.
func stricter(a, b *edit) *edit {
	if a == nil || b.rank() > a.rank() {
		return b
	}
	return a
}

// below reports whether a place is at or below a pointer.
func below(path, pointer []string) bool {
	if len(path) < len(pointer) {
		return false
	}
	for i, step := range pointer {
		if step != "*" && step != path[i] {
			return false
		}
	}
	return true
}
