package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of the fields of an action.
const (
	maxFields    = 16
	maxFieldText = 1000 // bytes of one value shown
)

// actionFields are the values of an input that the asking rule names, made
// visible here from the input that would run. cover redacts what is too long.
func actionFields(input json.RawMessage, pointers []string, cover func(string) string) []ActionField {
	var fields []ActionField
	for _, p := range pointers[:min(len(pointers), maxFields)] {
		f := ActionField{Pointer: p}
		value, found := at(input, p)
		if f.Missing = !found; found {
			f.Value = shownValue(value, cover)
		}
		fields = append(fields, f)
	}
	return fields
}

// shownValue is a text as it is, other values as JSON, both escaped and cut.
func shownValue(raw json.RawMessage, cover func(string) string) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	shown := visible(text)
	if len(shown) <= maxFieldText {
		return shown
	}
	if shown = cover(shown); len(shown) <= maxFieldText {
		return shown
	}
	end := maxFieldText
	for end > 0 && !utf8.RuneStart(shown[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", shown[:end], len(text))
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// at follows a JSON pointer (RFC 6901) into raw.
func at(raw json.RawMessage, pointer string) (json.RawMessage, bool) {
	if pointer == "" {
		return raw, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = pointerEscapes.Replace(part)
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && list != nil {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			raw = list[i]
			continue
		}
		next, ok := membersOf(raw)[part]
		if !ok {
			return nil, false
		}
		raw = next
	}
	return raw, true
}
