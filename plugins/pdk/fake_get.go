//go:build !wasip1

package pdk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func hostGet(pointer string, dst []byte) int32 {
	if len(pointer) > maxPath {
		return codeLimit
	}
	part, code := find(now().document, pointer)
	if code < 0 {
		return code
	}
	if len(part) <= len(dst) {
		copy(dst, part)
	}
	return int32(len(part))
}

// find looks for a part: a string decoded, everything else as its JSON text.
func find(document json.RawMessage, pointer string) (part []byte, code int32) {
	if part, code = findRaw(document, pointer); code < 0 || part[0] != '"' {
		return part, code
	}
	var text string
	if json.Unmarshal(part, &text) != nil {
		return nil, codeMissing
	}
	return []byte(text), 0
}

// findRaw is find without decoding.
func findRaw(document json.RawMessage, pointer string) (part json.RawMessage, code int32) {
	if pointer != "" && pointer[0] != '/' || badEscape(pointer) {
		return nil, codeBad
	}
	part = bytes.TrimSpace(document)
	for _, step := range strings.Split(pointer, "/")[1:] {
		if part = below(part, unescape.Replace(step)); part == nil {
			return nil, codeMissing
		}
	}
	return part, 0
}

func badEscape(pointer string) bool {
	for _, s := range strings.Split(pointer, "~")[1:] {
		if s == "" || s[0] != '0' && s[0] != '1' {
			return true
		}
	}
	return false
}

// below returns a member or an item, nil where there is none.
func below(value json.RawMessage, step string) json.RawMessage {
	switch value[0] {
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) == nil {
			return members[step]
		}
	case '[':
		var items []json.RawMessage
		i, err := strconv.Atoi(step)
		if json.Unmarshal(value, &items) == nil && err == nil && strconv.Itoa(i) == step && 0 <= i && i < len(items) {
			return items[i]
		}
	}
	return nil
}
