package pdk

// Strings goes through all strings in a part of the document, however deep, and
// tells each with its pointer below that part: what [Edits] want for /payload.
// Names of members are not among them. A part that is a string itself, or a number
// or a word alone, is told with the pointer "".
func Strings(pointer string, tell func(at, text string)) {
	raw := Raw(pointer)
	switch {
	case holds(pointer, raw):
		w := walker{text: raw, tell: tell}
		w.value()
	case Has(pointer):
		tell("", raw)
	}
}

// holds says whether a part is an object or a list that is not empty. The host gives
// strings decoded, so that one may read like an object; but nothing is below it.
func holds(pointer, raw string) bool {
	if raw == "" {
		return false
	}
	w := walker{text: raw, i: 1}
	w.space()
	switch {
	case raw[0] == '[':
		return Has(Item(pointer, 0))
	case raw[0] == '{' && w.i < len(raw) && raw[w.i] == '"':
		name, ok := w.str()
		return ok && Has(Child(pointer, name))
	}
	return false
}

// walker goes through the text of one JSON value, which the host has checked.
type walker struct {
	text string
	i    int    // of the next byte
	at   []byte // pointer of the value there
	tell func(at, text string)
}

func (w *walker) value() {
	w.space()
	switch w.peek() {
	case '{':
		w.members('}', w.member)
	case '[':
		n := 0
		w.members(']', func() {
			w.below(itoa(int64(n)))
			n++
		})
	case '"':
		w.tell(string(w.at), w.mustStr())
	default:
		w.word()
	}
}

// members goes through what stands between commas up to an end.
func (w *walker) members(end byte, one func()) {
	w.i++
	w.space()
	for w.peek() != end {
		one()
		if w.space(); w.peek() == ',' {
			w.i++
			w.space()
		}
	}
	w.i++
}

func (w *walker) member() {
	name := w.mustStr()
	w.space()
	w.i++ // the colon
	w.below(name)
}

func (w *walker) below(step string) {
	n := len(w.at)
	w.at = appendStep(w.at, step)
	w.value()
	w.at = w.at[:n]
}

// word steps over a number, true, false or null.
func (w *walker) word() {
	start := w.i
	for w.i < len(w.text) {
		switch w.text[w.i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			w.need(w.i > start)
			return
		}
		w.i++
	}
	w.need(w.i > start)
}

func (w *walker) space() {
	for w.i < len(w.text) {
		switch w.text[w.i] {
		case ' ', '\t', '\n', '\r':
			w.i++
		default:
			return
		}
	}
}

func (w *walker) peek() byte {
	w.need(w.i < len(w.text))
	return w.text[w.i]
}

// need fails the call on what is no JSON: going on would leave strings out.
func (w *walker) need(ok bool) {
	if !ok {
		panic("the document is no JSON")
	}
}

func (w *walker) mustStr() string {
	s, ok := w.str()
	w.need(ok)
	return s
}
