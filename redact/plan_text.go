package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLine bounds what of one line is held back while members are to be masked in
// it, in bytes; a longer one is covered as a whole.
const maxLine = 64 << 10

// planText applies edits to a text in pieces, before and behind a scanner's stream.
type planText struct {
	plan  *Plan
	sel   selection
	inner *Stream

	begun bool
	ended bool // nothing comes any more
	line  strings.Builder
	sent  int    // bytes, while the text is to be cut
	tail  string // the first bytes of a letter
}

func (t *planText) write(piece string) (string, []Hit) {
	if t.ended || piece == "" {
		return "", nil
	}
	if out, hits, done := t.instead(piece); done {
		return out, hits
	}
	if len(t.sel.keys) == 0 {
		return t.pass(t.inner.Write(piece))
	}
	masked, hits, more := t.lines(piece)
	safe, found := t.inner.Write(masked)
	hits = append(hits, found...)
	if more {
		return t.pass(safe, hits)
	}
	rest, found := t.inner.Close()
	safe, hits = t.pass(safe+rest+placeholder("key"), append(hits, found...))
	t.ended = true
	return safe, hits
}

// instead covers the whole text by one placeholder where that is what it comes to.
func (t *planText) instead(piece string) (string, []Hit, bool) {
	e := t.sel.whole
	if e == nil && len(t.sel.keys) > 0 && !t.begun {
		blank := strings.TrimLeft(piece, " \t\r\n")
		if blank == "" {
			return "", nil, false
		}
		t.begun = true
		if opensJSON(t.line.String() + piece) {
			e = t.sel.keys[0]
		}
	}
	if e == nil {
		return "", nil, false
	}
	t.ended = true
	out := placeholder(e.Rule)
	switch {
	case e.Action == Drop:
		out = ""
	case e.Action == Replace:
		out = e.With
	case len(e.Keys) > 0:
		out = placeholder("key")
	}
	return out, []Hit{{Detector: e.Rule}}, true
}

// lines masks members in the lines that are whole; more is false when nothing may
// come any more, because what is masked goes on.
func (t *planText) lines(piece string) (masked string, hits []Hit, more bool) {
	n := strings.LastIndexByte(piece, '\n') + 1
	if t.line.Len()+len(piece)-n > maxLine && n == 0 {
		return "", []Hit{{Detector: t.sel.keys[0].Rule}}, false
	}
	whole := ""
	if n > 0 {
		whole = t.line.String() + piece[:n]
		t.line.Reset()
	}
	t.line.WriteString(piece[n:])
	return t.mask(whole)
}

// mask masks members in whole lines. Where the value of a member does not end
// with them, what follows belongs to it.
func (t *planText) mask(text string) (string, []Hit, bool) {
	out, hits := t.plan.nested(t.sel.keys, text, 0)
	w := keyWalk{plan: t.plan, keys: t.sel.keys}
	if at := w.open(text); at >= 0 {
		out, hits = t.plan.nested(t.sel.keys, text[:at], 0)
		return out, append(hits, Hit{Detector: t.sel.keys[0].Rule}), false
	}
	return out, hits, true
}

// pass cuts what is passed on.
func (t *planText) pass(safe string, hits []Hit) (string, []Hit) {
	e := t.sel.cut
	if e == nil || t.ended {
		return safe, hits
	}
	safe, t.tail = t.tail+safe, ""
	if t.sent+len(safe) <= e.MaxBytes {
		whole := len(safe) - partialRune(safe)
		safe, t.tail = safe[:whole], safe[whole:]
		t.sent += whole
		return safe, hits
	}
	end := e.MaxBytes - t.sent
	for end > 0 && !utf8.RuneStart(safe[end]) {
		end--
	}
	if i := strings.LastIndex(safe[:min(len(safe), end+len(placeholderStart))], placeholderStart); i >= 0 && i < end {
		if n := strings.IndexByte(safe[i:], ']'); n < 0 || i+n >= end {
			end = i
		}
	}
	t.ended = true
	return safe[:end] + e.note, append(hits, Hit{Detector: e.Rule})
}

func (t *planText) close() (string, []Hit) {
	if t.ended {
		t.inner.Close()
		return "", nil
	}
	masked, hits, more := "", []Hit(nil), true
	if len(t.sel.keys) > 0 {
		masked, hits, more = t.mask(t.line.String())
	}
	safe, found := t.inner.Write(masked)
	rest, last := t.inner.Close()
	safe, hits = safe+rest, slices.Concat(hits, found, last)
	if !more {
		safe += placeholder("key")
	}
	safe, hits = t.pass(safe, hits)
	return safe + t.tail, hits
}

// partialRune is how many bytes at the end of s may begin a letter that goes on.
func partialRune(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if b := s[len(s)-n:]; utf8.RuneStart(b[0]) {
			if utf8.FullRuneInString(b) {
				return 0
			}
			return n
		}
	}
	return 0
}

// open is where a key stands whose value does not end within the text; -1 for none.
func (w *keyWalk) open(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if e, start := w.keyAt(s, i); e != nil {
			end := looseEnd(s, start)
			if end == len(s) && !closed(s[start:]) {
				return i
			}
			i = max(i, end-1) // all of a value is masked: what it holds does not count
		}
	}
	return -1
}

// closed reports whether a value that ends with the text ends there by itself.
func closed(value string) bool {
	if value == "" {
		return false // it begins on the next line
	}
	switch value[0] {
	case '"':
		return len(value) > 1 && stringEnd(value, 0) < len(value)
	case '{', '[':
		return looseEnd(value+" ", 0) == len(value)
	}
	return true
}
