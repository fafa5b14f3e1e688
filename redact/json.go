package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Finding says where in a document secrets were covered, never what they were. A
// document has at most 1200 findings: behind the first thousand, what is found
// is counted by detector with the pointer "". A pointer of more than 1 KiB ends
// early, at what the place is within.
type Finding struct {
	Pointer  string `json:"pointer"` // RFC 6901; a covered key appears covered
	Detector string `json:"detector"`
	Count    int    `json:"count"` // from 1
}

// JSON covers the secrets in every string of a document, keys included, after
// decoding it, so that escapes hide nothing. A clean document is returned byte
// for byte: it is raw itself, with nil. What is not JSON is replaced as a whole:
// the result is always valid.
func (sc Scanner) JSON(raw json.RawMessage) (json.RawMessage, []Finding) {
	if !valid(raw) {
		return invalid()
	}
	return sc.JSONKnownValid(raw)
}

// JSONKnownValid is JSON for a document that was decoded before: it is checked
// only where something has to be covered in it, so that a clean one costs no
// more than a look at its bytes.
func (sc Scanner) JSONKnownValid(raw json.RawMessage) (json.RawMessage, []Finding) {
	r := sc.rules()
	if r.clean(view8(raw)) {
		return raw, nil
	}
	if !valid(raw) {
		return invalid()
	}
	w := walker{in: view8(raw)}
	w.text = func(key, s string, isKey bool) (string, []Hit) {
		if isKey {
			key = ""
		}
		return r.string(key, s)
	}
	w.value("")
	if len(w.findings) == 0 {
		return raw, nil
	}
	return append(w.out, w.in[w.kept:]...), w.findings
}

func invalid() (json.RawMessage, []Finding) {
	return quote(placeholder("invalid-json")), []Finding{{Detector: "invalid-json", Count: 1}}
}

// walker copies a valid document and passes its strings through text, which gets
// the name of the member they belong to; it may ask pointer where it is. Strings
// are parts of the document: they are not to be kept. The recursion is bounded by
// the nesting that a valid document has at most.
type walker struct {
	in       string // its strings are parts of it, not copies
	pos      int
	out      []byte
	kept     int // in[:kept] is in out already
	path     []step
	findings []Finding
	text     func(key, s string, isKey bool) (string, []Hit)
}

// step leads from a value to one inside it: to a member, or to an element when
// index is not negative.
type step struct {
	key   string
	index int
}

func (w *walker) space() {
	for w.pos < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.pos]) >= 0 {
		w.pos++
	}
}

// value walks the value at pos; key is the member it belongs to.
func (w *walker) value(key string) {
	w.space()
	switch w.in[w.pos] {
	case '{':
		w.object()
	case '[':
		w.array(key)
	case '"':
		w.str(key, false)
	default:
		for w.pos < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[w.pos]) < 0 {
			w.pos++
		}
	}
	w.space()
}

func (w *walker) object() {
	w.pos++
	for w.space(); w.in[w.pos] != '}'; w.space() {
		before := len(w.findings)
		key := w.str("", true)
		w.path = append(w.path, step{key, -1})
		for i := before; i < min(len(w.findings), maxPlaces); i++ {
			w.findings[i].Pointer = w.pointer()
		}
		w.space()
		w.pos++ // the colon
		w.value(key)
		w.path = w.path[:len(w.path)-1]
		if w.in[w.pos] == ',' {
			w.pos++
		}
	}
	w.pos++
}

func (w *walker) array(key string) {
	w.pos++
	w.space()
	for i := 0; w.in[w.pos] != ']'; i++ {
		w.path = append(w.path, step{"", i})
		w.value(key)
		w.path = w.path[:len(w.path)-1]
		if w.in[w.pos] == ',' {
			w.pos++
			w.space()
		}
	}
	w.pos++
}

// str passes the string at pos through text and returns what it became.
func (w *walker) str(key string, isKey bool) string {
	start := w.pos
	w.pos = stringEnd(w.in, start) + 1
	s := unquote(w.in[start:w.pos])
	covered, hits := w.text(key, s, isKey)
	if len(hits) == 0 {
		return s
	}
	w.out = append(append(w.out, w.in[w.kept:start]...), quote(covered)...)
	w.kept = w.pos
	w.note(hits)
	return covered
}

// pointer names where the walker is. Few documents hold a secret, so it is made
// only when one is found.
func (w *walker) pointer() string {
	var b strings.Builder
	for _, s := range w.path {
		if b.Len() > maxPlace { // the place is within
			break
		}
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		b.WriteString(pointerEscapes.Replace(s.key))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// note adds one finding for each detector of hits.
func (w *walker) note(hits []Hit) {
	first := len(w.findings)
	for _, h := range hits {
		w.findings = addFinding(w.findings, first, h.Detector, w.pointer)
	}
}

// Bounds on findings: places that are told, bytes of a pointer, and names that
// are told when no place is any more.
const (
	maxPlaces = 1000
	maxPlace  = 1 << 10
	maxTold   = 200
)

// addFinding counts a hit at one place, whose findings are all[first:]. Behind
// maxPlaces it is counted at no place in particular, as if it were in the whole
// document: a document full of secrets would otherwise make more of its findings.
func addFinding(all []Finding, first int, detector string, pointer func() string) []Finding {
	at := ""
	if len(all) >= maxPlaces {
		first = maxPlaces
	}
	for i := first; i < len(all); i++ {
		if all[i].Detector == detector {
			all[i].Count++
			return all
		}
	}
	switch {
	case len(all) < maxPlaces:
		at = pointer()
	case len(all) >= maxPlaces+maxTold: // a text can make up names without end
		all[len(all)-1].Count++
		return all
	}
	return append(all, Finding{Pointer: at, Detector: detector, Count: 1})
}

// unquote decodes a literal that is known to be valid.
func unquote(literal string) string {
	if strings.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	var s string
	if err := json.Unmarshal([]byte(literal), &s); err != nil {
		return literal
	}
	return s
}

// quote encodes s without HTML escapes, so that shell text stays readable.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return []byte(`"` + placeholder("unencodable") + `"`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
