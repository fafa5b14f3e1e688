package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// slimMessage keeps role, content and stop_reason of an assistant message, and
// of content what can be read. What does not look like one is left alone. A
// poll passes every message through it, so the parts that stay are not decoded.
func slimMessage(data json.RawMessage) json.RawMessage {
	return rewrite(data, func(name string, value json.RawMessage) (json.RawMessage, bool) {
		if name != "message" || kindOf(value) != "an object" {
			return value, true
		}
		return rewrite(value, slimMember), true
	})
}

func slimMember(name string, value json.RawMessage) (json.RawMessage, bool) {
	switch name {
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
func rewrite(data json.RawMessage, keep func(name string, value json.RawMessage) (json.RawMessage, bool)) json.RawMessage {
	out := append(make([]byte, 0, len(data)), '{')
	if !rawjson.Each(data, func(literal, value []byte) {
		name, _ := rawjson.Name(literal) // valid, as data is
		kept, stays := keep(name, value)
		if !stays {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, literal...), ':'), kept...)
	}) {
		return data
	}
	return append(out, '}')
}
