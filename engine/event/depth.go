package event

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxDepth bounds the nesting of a payload that is kept. Readers have bounds of
// their own, and one that cannot read an event never gets past it: the Go SDK of
// MCP ends the connection at 1000 levels, with what an answer has around a payload.
const MaxDepth = 640

// tooDeep scans valid JSON without a parser, so that depth costs no stack; most
// payloads have too few brackets to be looked at.
func tooDeep(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= MaxDepth {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// deepStub stands for a payload that is nested too deep.
func deepStub(kind Kind, size int) json.RawMessage {
	b, _ := json.Marshal(map[string]any{
		"type": "withheld", "kind": kind, "bytes": size,
		"message": fmt.Sprintf("event withheld: its payload is nested deeper than %d levels, which readers may not take", MaxDepth),
	})
	return b
}
