package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"unicode/utf8"
)

// MaxDepth is how many levels of arrays and objects a member of a document may have.
const MaxDepth = 1000

var (
	errNoJSON  = errors.New("is no valid JSON")
	errTooDeep = errors.New("is nested deeper than 1000 levels")
)

// tape is one JSON value with the places of all values in it, so that looking for
// one neither parses nor copies. It is made at the first look and is the same for
// all plugins of a call. One pass makes it, whatever is asked for later: a guest
// that asks for each level of a deep value costs no more than one that asks once.
type tape struct {
	raw []byte

	made  sync.Once
	nodes []node
	err   error

	mu    sync.Mutex
	texts map[int][]byte // decoded strings by node, of those with escapes
}

// node is one value, or the name of a member, which stands before its value.
type node struct {
	start, end uint32
	next       uint32 // index of the node behind this one and all it holds
	kind       byte   // '{', '[', '"' (with escapes), 's' (a string as it is) or '0' (anything else)
}

// maxTape keeps offsets within 32 bits; documents are smaller by far.
const maxTape = 1 << 30

func newTape(raw []byte) *tape { return &tape{raw: raw} }

func (t *tape) make() error {
	t.made.Do(func() {
		if len(t.raw) > maxTape {
			t.err = errors.New("is larger than 1 GiB")
			return
		}
		p := taper{raw: t.raw, nodes: make([]node, 0, 8+len(t.raw)/32)}
		end, err := p.value(0, 0)
		if err == nil && p.space(end) != len(t.raw) {
			err = errNoJSON
		}
		t.nodes, t.err = p.nodes, err
	})
	return t.err
}

// text is what a guest is given of a node: strings decoded, the rest as written.
func (t *tape) text(i int) []byte {
	n := t.nodes[i]
	switch raw := t.raw[n.start:n.end]; n.kind {
	case 's':
		return raw[1 : len(raw)-1]
	case '"':
		return t.decoded(i, raw)
	default:
		return raw
	}
}

func (t *tape) decoded(i int, raw []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, ok := t.texts[i]; ok {
		return text
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		s = "" // the tape holds valid JSON only, see newDocument
	}
	if t.texts == nil {
		t.texts = map[int][]byte{}
	}
	t.texts[i] = []byte(s)
	return t.texts[i]
}

// taper writes a tape. It trusts that the JSON is valid as far as it can without
// reading behind its end.
type taper struct {
	raw   []byte
	nodes []node
}

func (p *taper) space(pos int) int {
	for pos < len(p.raw) && (p.raw[pos] == ' ' || p.raw[pos] == '\n' || p.raw[pos] == '\t' || p.raw[pos] == '\r') {
		pos++
	}
	return pos
}

// value adds the value at pos and returns its end.
func (p *taper) value(pos, depth int) (int, error) {
	pos = p.space(pos)
	if pos == len(p.raw) {
		return pos, errNoJSON
	}
	switch p.raw[pos] {
	case '{', '[':
		if depth == MaxDepth {
			return pos, errTooDeep
		}
		return p.container(pos, depth)
	case '"':
		return p.text(pos)
	}
	end := pos
	for end < len(p.raw) && !delimits(p.raw[end]) {
		end++
	}
	if end == pos {
		return pos, errNoJSON
	}
	p.add('0', pos, end)
	return end, nil
}

func delimits(c byte) bool {
	switch c {
	case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func (p *taper) add(kind byte, start, end int) {
	p.nodes = append(p.nodes, node{kind: kind, start: uint32(start), end: uint32(end), next: uint32(len(p.nodes) + 1)})
}

func (p *taper) container(start, depth int) (int, error) {
	open, at := p.raw[start], len(p.nodes)
	p.add(open, start, start)
	pos := p.space(start + 1)
	for first := true; ; first = false {
		switch {
		case pos == len(p.raw):
			return pos, errNoJSON
		case p.raw[pos] == open+2: // '}' and ']' are the second behind their openings
			p.nodes[at].end, p.nodes[at].next = uint32(pos+1), uint32(len(p.nodes))
			return pos + 1, nil
		case !first && p.raw[pos] != ',':
			return pos, errNoJSON
		case !first:
			pos++
		}
		end, err := p.item(open, pos, depth)
		if err != nil {
			return end, err
		}
		pos = p.space(end)
	}
}

// item adds an element, or a member's name and value.
func (p *taper) item(open byte, pos, depth int) (int, error) {
	if open == '{' {
		if pos = p.space(pos); pos == len(p.raw) || p.raw[pos] != '"' {
			return pos, errNoJSON
		}
		end, err := p.text(pos)
		if err != nil {
			return end, err
		}
		if pos = p.space(end); pos == len(p.raw) || p.raw[pos] != ':' {
			return pos, errNoJSON
		}
		pos++
	}
	return p.value(pos, depth+1)
}

// text adds the string at start. One without escapes, which most are, is found at
// the speed of memory and given to guests without a copy.
func (p *taper) text(start int) (int, error) {
	pos := start + 1
	quote := bytes.IndexByte(p.raw[pos:], '"')
	if quote < 0 {
		return pos, errNoJSON
	}
	if escape := bytes.IndexByte(p.raw[pos:pos+quote], '\\'); escape >= 0 {
		return p.escaped(start, pos+escape)
	}
	end := pos + quote + 1
	kind := byte('s')
	if !utf8.Valid(p.raw[start:end]) {
		kind = '"' // decoding replaces what is no UTF-8
	}
	p.add(kind, start, end)
	return end, nil
}

// escaped adds the string at start whose first escape is at pos.
func (p *taper) escaped(start, pos int) (int, error) {
	for pos < len(p.raw) {
		switch p.raw[pos] {
		case '\\':
			pos += 2
		case '"':
			p.add('"', start, pos+1)
			return pos + 1, nil
		default:
			pos++
		}
	}
	return len(p.raw), errNoJSON
}
