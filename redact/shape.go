package redact

import "encoding/json"

// maxTypeWord bounds a "type" value that Shape keeps, in bytes.
const maxTypeWord = 32

// Shape returns a document of the same shape in which every string is a
// placeholder: what a reader gets when redaction itself went wrong. Keys (with
// secrets covered), numbers and the short words under "type" stay, because a
// consumer that checks shapes would otherwise fall back to the original.
func (sc Scanner) Shape(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return quote(placeholder("output"))
	}
	w := walker{in: string(raw), text: func(key, s string, isKey bool) (string, []Hit) {
		if isKey {
			return sc.String(s)
		}
		if s == "" || key == "type" && isTypeWord(s) {
			return s, nil
		}
		return placeholder("output"), []Hit{{Detector: "output"}}
	}}
	w.value("")
	return append(w.out, w.in[w.kept:]...)
}

func isTypeWord(s string) bool {
	if len(s) > maxTypeWord {
		return false
	}
	for i := range len(s) {
		if (s[i] < 'a' || s[i] > 'z') && s[i] != '_' {
			return false
		}
	}
	return true
}
