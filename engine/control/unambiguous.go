package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// MaxDepth bounds the nesting of a control message.
const MaxDepth = 512

// Check refuses a JSON text whose meaning could differ between two parsers:
// duplicate keys, more than MaxDepth levels, trailing data.
func Check(raw []byte) error {
	if !json.Valid(raw) {
		return json.Unmarshal(raw, new(any)) // says what is wrong
	}
	return unambiguous(raw)
}

// unambiguous is Check for valid JSON. It decodes nothing but keys with escapes: a
// message with a large argument is searched by the goroutine that reads the CLI.
func unambiguous(raw []byte) error {
	var open levels
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if len(open) == MaxDepth {
				return fmt.Errorf("nested deeper than %d levels", MaxDepth)
			}
			open = open.enter(raw[i] == '{')
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			top := &open[len(open)-1]
			top.atKey = top.object
		case '"':
			end := textEnd(raw, i)
			if err := open.text(raw[i:end]); err != nil {
				return err
			}
			i = end - 1
		}
	}
	return nil
}

// textEnd is where the text that begins at i ends.
func textEnd(raw []byte, i int) int {
	for at := i + 1; ; at++ {
		at += bytes.IndexByte(raw[at:], '"')
		escapes := 0
		for raw[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}

// fewKeys of an object are compared one by one, more are looked up.
const fewKeys = 16

// level is one open object or array while checking.
type level struct {
	object bool
	atKey  bool // the next text is a key
	keys   [][]byte
	many   map[string]bool // the keys, once they are more than fewKeys
}

// levels are the open ones, from the outside in.
type levels []level

// enter opens one; what an earlier one of this depth allocated is used again.
func (l levels) enter(object bool) levels {
	if len(l) < cap(l) {
		l = l[:len(l)+1]
	} else {
		l = append(l, level{})
	}
	top := &l[len(l)-1]
	*top = level{object: object, atKey: object, keys: top.keys[:0]}
	return l
}

// text takes a text with its quotation marks, which may be a key.
func (l levels) text(literal []byte) error {
	if len(l) == 0 || !l[len(l)-1].atKey {
		return nil
	}
	top := &l[len(l)-1]
	top.atKey = false
	name := literal[1 : len(literal)-1]
	if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
		decoded, err := rawjson.Name(literal)
		if err != nil {
			return err
		}
		name = []byte(decoded)
	}
	if !top.first(name) {
		return fmt.Errorf("key %q stands twice in one object", name)
	}
	return nil
}

// first reports whether a key is new, and remembers it.
func (l *level) first(name []byte) bool {
	if l.many != nil {
		twice := l.many[string(name)]
		l.many[string(name)] = true
		return !twice
	}
	if slices.ContainsFunc(l.keys, func(k []byte) bool { return bytes.Equal(k, name) }) {
		return false
	}
	if l.keys = append(l.keys, name); len(l.keys) > fewKeys {
		l.many = make(map[string]bool, 4*fewKeys)
		for _, k := range l.keys {
			l.many[string(k)] = true
		}
	}
	return true
}
