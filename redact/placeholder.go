package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// placeholderStart begins every placeholder; a detector's name and "]" follow.
const placeholderStart = "[REDACTED:"

func placeholder(detector string) string { return placeholderStart + detector + "]" }

// ownNames are names in placeholders that are no detectors'.
var ownNames = map[string]bool{"output": true, "invalid-json": true, "too-large": true, "key": true, "text": true, "unencodable": true}

// placeholderAt is the end of the placeholder that begins at i, and its name. A
// name that nobody gives does not count, so that nothing is hidden in one.
func (r *rules) placeholderAt(s string, i int) (name string, end int, ok bool) {
	if !strings.HasPrefix(s[i:], placeholderStart) {
		return "", 0, false
	}
	first := i + len(placeholderStart)
	n := strings.IndexByte(s[first:min(len(s), first+maxName+1)], ']')
	if n < 0 {
		return "", 0, false
	}
	name = s[first : first+n]
	return name, first + n + 1, r.names[name] || ownNames[name] || isHash(s[i:first+n+1])
}

// placeholderAround reports whether s[from:to] is a placeholder or within one.
func (r *rules) placeholderAround(s string, from, to int) bool {
	lo := max(0, from-len(placeholderStart)-maxName)
	i := strings.LastIndex(s[lo:min(len(s), from+len(placeholderStart))], placeholderStart)
	if i < 0 {
		return false
	}
	_, end, ok := r.placeholderAt(s, lo+i)
	return ok && to <= end
}

// HasPlaceholder reports whether data, or a string of it when it is JSON, holds
// a placeholder. Such a text must not be run: it was changed for the eye.
func HasPlaceholder(data []byte) bool {
	if bytes.Contains(data, []byte(placeholderStart)) {
		return true
	}
	if !hides(view8(data)) || !json.Valid(data) {
		return false
	}
	found := false
	w := walker{in: string(data), text: func(_, s string, _ bool) (string, []Hit) {
		found = found || strings.Contains(s, placeholderStart)
		return s, nil
	}}
	w.value("")
	return found
}

// Placeholders finds the placeholders that stand in a valid document already,
// because its text was covered on an earlier way: one Finding for each name at
// each place. A document without any costs a search and no allocation.
func Placeholders(raw json.RawMessage) []Finding {
	if !bytes.Contains(raw, []byte(placeholderStart)) || !json.Valid(raw) {
		return nil
	}
	w := walker{in: string(raw)}
	w.text = func(_, s string, _ bool) (string, []Hit) {
		w.note(placeholdersIn(s))
		return s, nil
	}
	w.value("")
	return w.findings
}

func placeholdersIn(s string) (hits []Hit) {
	for {
		i := strings.Index(s, placeholderStart)
		if i < 0 {
			return hits
		}
		s = s[i+len(placeholderStart):]
		if n := run(s, 0, &nameBytes); n > 0 && n <= maxName && n < len(s) && s[n] == ']' {
			hits = append(hits, Hit{Detector: s[:n]})
		}
	}
}
