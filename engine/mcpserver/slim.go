package mcpserver

import (
	"bytes"
	"encoding/json"
)

// slimMessage keeps role, content and stop_reason of an assistant message, and
// of content what can be read. What does not look like one is left alone. A
// poll passes every message through it, so the parts that stay are not decoded.
func slimMessage(data json.RawMessage) json.RawMessage {
	return rewrite(data, func(name []byte, value json.RawMessage) (json.RawMessage, bool) {
		if string(name) != "message" || kindOf(value) != "an object" {
			return value, true
		}
		return rewrite(value, slimMember), true
	})
}

func slimMember(name []byte, value json.RawMessage) (json.RawMessage, bool) {
	switch string(name) {
	case "role", "stop_reason":
		return value, true
	case "content":
		return slimContent(value), true
	}
	return nil, false
}

// slimContent goes through the blocks. The order stays, so redaction pointers
// still fit. A signature is kilobytes of proof that only the API can check.
func slimContent(blocks json.RawMessage) json.RawMessage {
	if kindOf(blocks) != "an array" || !bytes.Contains(blocks, []byte("cache_control")) && !bytes.Contains(blocks, []byte("signature")) {
		return blocks
	}
	var list []json.RawMessage
	if json.Unmarshal(blocks, &list) != nil {
		return blocks
	}
	for i, b := range list {
		list[i] = without(b, "cache_control", "signature")
	}
	return remarshal(list, blocks)
}

// rewrite passes the members of an object through keep, which returns what
// becomes of the value and whether the member stays. What is no object is
// returned as it is. data must be valid.
func rewrite(data json.RawMessage, keep func(name []byte, value json.RawMessage) (json.RawMessage, bool)) json.RawMessage {
	pos := skipSpace(data, 0)
	if pos == len(data) || data[pos] != '{' {
		return data
	}
	out := append(make([]byte, 0, len(data)), '{')
	for pos = skipSpace(data, pos+1); data[pos] != '}'; pos = skipSpace(data, pos) {
		nameEnd := valueEnd(data, pos)
		literal := data[pos:nameEnd]
		start := skipSpace(data, skipSpace(data, nameEnd)+1)
		pos = valueEnd(data, start)
		value, stays := keep(nameOf(literal), data[start:pos:pos])
		if stays {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, literal...), ':'), value...)
		}
		if pos = skipSpace(data, pos); data[pos] == ',' {
			pos++
		}
	}
	return append(out, '}')
}

func nameOf(literal []byte) []byte {
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	name, _ := stringOf(literal)
	return []byte(name)
}

func skipSpace(b []byte, pos int) int {
	for pos < len(b) && (b[pos] == ' ' || b[pos] == '\n' || b[pos] == '\t' || b[pos] == '\r') {
		pos++
	}
	return pos
}

// valueEnd returns the end of the value that begins at pos of a valid document.
func valueEnd(b []byte, pos int) int {
	for depth := 0; ; {
		switch b[pos] {
		case '"':
			for pos++; b[pos] != '"'; pos++ {
				if b[pos] == '\\' {
					pos++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		pos++
		if depth == 0 && (b[pos-1] == '"' || b[pos-1] == '}' || b[pos-1] == ']' || pos == len(b) || bytes.IndexByte([]byte(",:]} \t\r\n"), b[pos]) >= 0) {
			return pos
		}
	}
}
