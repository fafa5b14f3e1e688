package redact

import (
	"encoding/json"
	"strings"
)

// maxNested bounds how deep JSON in texts of JSON is followed. What lies deeper
// is covered as a whole.
const maxNested = 8

// nested masks members in a text that is JSON, or lines of JSON, and writes it
// back in place. In other texts, as JSON that was cut off, it masks what stands
// behind a quoted key and a colon.
func (p *Plan) nested(keys []*edit, s string, depth int) (string, []Hit) {
	if strings.IndexByte(s, '"') < 0 {
		return s, nil
	}
	if depth == maxNested {
		return placeholder("key"), []Hit{{Detector: keys[0].Rule}}
	}
	w := keyWalk{plan: p, keys: keys, depth: depth}
	if opensJSON(s) && json.Valid([]byte(s)) {
		return w.document(s), w.hits
	}
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		if opensJSON(line) && json.Valid([]byte(line)) {
			lines[i] = w.document(line)
		}
	}
	if len(w.hits) > 0 {
		s = strings.Join(lines, "")
	}
	return w.loose(s), w.hits
}

// opensJSON reports whether a text begins as a document with members may.
func opensJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && strings.IndexByte(`{["`, s[0]) >= 0
}

// keyWalk masks members of a document that stands in a text.
type keyWalk struct {
	cursor
	plan  *Plan
	keys  []*edit
	depth int
	hits  []Hit
}

func (w *keyWalk) document(s string) string {
	before := len(w.hits)
	w.cursor = cursor{in: s}
	w.space()
	w.value(nil)
	if len(w.hits) == before {
		return s
	}
	return string(w.done())
}

func (w *keyWalk) value(masked *edit) {
	switch w.in[w.pos] {
	case '{':
		for w.enter(); w.in[w.pos] != '}'; w.next() {
			name, _ := w.str()
			w.colon()
			w.value(w.member(name, masked))
		}
		w.pos++
	case '[':
		for w.enter(); w.in[w.pos] != ']'; w.next() {
			w.value(masked)
		}
		w.pos++
	case '"':
		w.text(masked)
	default:
		start := w.scalar()
		if was := w.in[start:w.pos]; masked != nil && was != blank(was) {
			w.put(start, []byte(blank(was)))
			w.hits = append(w.hits, Hit{Detector: masked.Rule})
		}
	}
}

func (w *keyWalk) member(name string, outer *edit) *edit {
	for _, e := range w.keys {
		if e.names(name) {
			outer = stricter(outer, e)
		}
	}
	return outer
}

func (w *keyWalk) text(masked *edit) {
	s, start := w.str()
	out, hits := s, []Hit(nil)
	switch {
	case s == "":
	case masked != nil:
		out, hits = w.plan.instead(masked, s)
	default:
		out, hits = w.plan.nested(w.keys, s, w.depth+1)
	}
	if len(hits) > 0 {
		w.put(start, quote(out))
		w.hits = append(w.hits, hits...)
	}
}
