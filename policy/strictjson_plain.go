package policy

import (
	"encoding/json"
)

// plainObject reads what most inputs are: an object of texts, true, false and
// null whose letters are plain ASCII without escapes, no name twice. false says
// that this is another one, or wrong, which the careful reader tells.
func plainObject(raw json.RawMessage) (map[string]any, bool) {
	p := plainReader{raw: raw}
	if len(raw) > maxInputBytes || !p.take('{') {
		return nil, false
	}
	object := make(map[string]any, 4)
	for more := !p.take('}'); more; more = !p.take('}') {
		if len(object) > 0 && !p.take(',') {
			return nil, false
		}
		name, ok := p.text()
		if _, twice := object[name]; !ok || twice || !p.take(':') {
			return nil, false
		}
		if object[name], ok = p.value(); !ok {
			return nil, false
		}
	}
	p.blanks()
	return object, p.at == len(raw)
}

type plainReader struct {
	raw []byte
	at  int
}

func (p *plainReader) blanks() {
	for p.at < len(p.raw) {
		switch p.raw[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// take takes one letter behind blanks, if it stands there.
func (p *plainReader) take(c byte) bool {
	p.blanks()
	if p.at == len(p.raw) || p.raw[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *plainReader) text() (string, bool) {
	if !p.take('"') {
		return "", false
	}
	from := p.at
	for ; p.at < len(p.raw); p.at++ {
		switch c := p.raw[p.at]; {
		case c == '"':
			s := string(p.raw[from:p.at])
			p.at++
			return s, len(s) <= maxStringBytes
		case c < ' ' || c > '~' || c == '\\':
			return "", false
		}
	}
	return "", false
}

func (p *plainReader) value() (any, bool) {
	p.blanks()
	for word, value := range plainWords {
		if end := p.at + len(word); end <= len(p.raw) && string(p.raw[p.at:end]) == word {
			p.at = end
			return value, true
		}
	}
	s, ok := p.text()
	return s, ok
}

var plainWords = map[string]any{"true": true, "false": false, "null": nil}
