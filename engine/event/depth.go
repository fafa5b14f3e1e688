package event

import (
	"encoding/json"
	"fmt"
)

// MaxDepth bounds the nesting of a payload that is kept. Readers have bounds of
// their own, and one that cannot read an event never gets past it: the Go SDK of
// MCP ends the connection at 1000 levels, with what an answer has around a payload.
const MaxDepth = 640

// deepStub stands for a payload that is nested too deep.
func deepStub(kind Kind, size int) json.RawMessage {
	b, _ := json.Marshal(map[string]any{
		"type": "withheld", "kind": kind, "bytes": size,
		"message": fmt.Sprintf("event withheld: its payload is nested deeper than %d levels, which readers may not take", MaxDepth),
	})
	return b
}
