package mpmserver

import (
	"strings"
	"unicode/utf8"
)

// mark begins what stands in the place of something covered, up to a "]". maxMark is
// longer than any.
const (
	mark    = "[REDACTED:"
	maxMark = 256
)

// ending is the end of a text, at most limit bytes: whole runes, and no half of a mark,
// which would look like words of the model.
func ending(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := len(text) - limit
	if i := strings.LastIndex(text[max(cut-maxMark, 0):min(cut+len(mark)-1, len(text))], mark); i >= 0 {
		start := max(cut-maxMark, 0) + i
		if n := strings.IndexByte(text[start:min(start+maxMark, len(text))], ']'); start < cut && start+n >= cut {
			cut = start + n + 1
		}
	}
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return text[cut:]
}

// shortened is ending that shows that something is missing.
func shortened(text string, limit int) string {
	const missing = "…"
	if len(text) <= limit {
		return text
	}
	return missing + ending(text, limit-len(missing))
}
