package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// What a client sees of an input is redacted, and what stands in the place of a
// secret need not look like a placeholder: policies can put any text there, cut a
// text or leave nothing of it. So a changed input is compared with what was shown.

// copiedFrom names the member of an updated input that holds what redaction put
// into the shown one, "" when there is none. What was not shown says nothing.
func copiedFrom(shown, original, updated json.RawMessage) string {
	before, now := textsOf(original), textsOf(updated)
	words := make(map[string]string) // that redaction made, to the member they stand in
	for pointer, text := range textsOf(shown) {
		real, ok := before[pointer]
		if !ok || real == text {
			continue
		}
		if sent, there := now[pointer]; there && sent == text {
			return pointer
		}
		known := strings.Fields(real)
		for _, word := range strings.Fields(text) {
			if len(word) >= minForeign && !slices.Contains(known, word) {
				words[word] = pointer
			}
		}
	}
	if len(words) == 0 {
		return ""
	}
	for _, text := range now {
		for _, word := range strings.Fields(text) {
			if pointer, copied := words[word]; copied {
				return pointer
			}
		}
	}
	return ""
}

// minForeign is the length of a word, in bytes, from which it is taken for one
// that was copied.
const minForeign = 3

// textsOf are the texts of a value by their pointers (RFC 6901), decoded.
func textsOf(raw json.RawMessage) map[string]string {
	v, _ := decodeOutput(raw)
	texts := make(map[string]string)
	collectTexts(texts, "", v)
	return texts
}

func collectTexts(texts map[string]string, pointer string, v any) {
	switch v := v.(type) {
	case string:
		texts[pointer] = v
	case []any:
		for i := range v {
			collectTexts(texts, pointer+"/"+strconv.Itoa(i), v[i])
		}
	case map[string]any:
		for k := range v {
			collectTexts(texts, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), v[k])
		}
	}
}
