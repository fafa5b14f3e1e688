// Package rawjson looks into JSON documents without decoding them: most of what
// passes through is only passed on, and decoding it would be the larger part of
// its way. Start with [Each].
package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Each calls f for each member of an object, in order and as often as its name
// stands there. literal is the name with its quotation marks, see [Name]; both
// are parts of doc whose capacity ends with them, so that appending to one does
// not write over its neighbour. It reports whether doc is an object; doc must be
// valid JSON.
func Each(doc []byte, f func(literal, value []byte)) bool {
	pos := space(doc, 0)
	if pos == len(doc) || doc[pos] != '{' {
		return false
	}
	for pos = space(doc, pos+1); doc[pos] != '}'; pos = space(doc, pos) {
		nameEnd := end(doc, pos)
		literal := doc[pos:nameEnd:nameEnd]
		start := space(doc, space(doc, nameEnd)+1) // behind the colon
		pos = end(doc, start)
		f(literal, doc[start:pos:pos])
		if pos = space(doc, pos); doc[pos] == ',' {
			pos++
		}
	}
	return true
}

// Items calls f for each element of an array, in order, as [Each] does for
// members. It reports whether doc is an array; doc must be valid JSON.
func Items(doc []byte, f func(value []byte)) bool {
	pos := space(doc, 0)
	if pos == len(doc) || doc[pos] != '[' {
		return false
	}
	for pos = space(doc, pos+1); doc[pos] != ']'; pos = space(doc, pos) {
		start := pos
		pos = end(doc, start)
		f(doc[start:pos:pos])
		if pos = space(doc, pos); doc[pos] == ',' {
			pos++
		}
	}
	return true
}

// Name decodes the literal of a member's name.
func Name(literal []byte) (string, error) {
	if bytes.IndexByte(literal, '\\') < 0 && utf8.Valid(literal) {
		return string(literal[1 : len(literal)-1]), nil
	}
	var name string
	err := json.Unmarshal(literal, &name)
	return name, err
}

// Kind names the kind of a value with its article, for messages: "an object",
// "an array", "a string", "a number", "a boolean", "null", or "nothing" for an
// empty one. It looks at the first byte only.
func Kind(value []byte) string {
	pos := space(value, 0)
	if pos == len(value) {
		return "nothing"
	}
	switch value[pos] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func space(b []byte, pos int) int {
	for pos < len(b) && (b[pos] == ' ' || b[pos] == '\n' || b[pos] == '\t' || b[pos] == '\r') {
		pos++
	}
	return pos
}

// end is the end of the value at pos.
func end(b []byte, pos int) int {
	switch b[pos] {
	case '"':
		return quoted(b, pos)
	case '{', '[':
		return nested(b, pos)
	}
	for pos < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[pos]) < 0 {
		pos++
	}
	return pos
}

// quoted passes a string. A quotation mark ends it unless an odd number of
// backslashes stands before it; long texts are passed at the speed of IndexByte.
func quoted(b []byte, pos int) int {
	for first := pos + 1; ; {
		pos++
		pos += bytes.IndexByte(b[pos:], '"')
		before := pos
		for before > first && b[before-1] == '\\' {
			before--
		}
		if (pos-before)%2 == 0 {
			return pos + 1
		}
	}
}

// nested passes an object or an array: in a valid document only the depth counts.
func nested(b []byte, pos int) int {
	for depth := 0; ; {
		switch b[pos] {
		case '"':
			pos = quoted(b, pos)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if pos++; depth == 0 {
			return pos
		}
	}
}
