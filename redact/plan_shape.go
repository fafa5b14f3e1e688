package redact

import "slices"

// Names under which the CLI and clients tell payloads apart, with the place
// where they stand. Edits of whole texts and of keys leave their values; what a
// detector finds in one is covered all the same.
var (
	payloadNames = []string{
		"type", "subtype", "kind", "tool_use_id", "parent_tool_use_id", "session_id", "uuid", "requestId", "toolUseID", "agentID",
		"toolName", "behavior", "source", "rule", "policyRevision", "inputSha256", "createdAt", "expiresAt", "permissionMode", "stop_reason", "sessionId",
		"time", "level", // of a line of the log
	}
	messageNames = []string{"id", "type", "role", "model", "stop_reason", "stop_sequence"}
	blockNames   = []string{"type", "id", "name", "tool_use_id"}
)

// keeps reports whether the value at a place is one of those. Below the input or
// the output of a tool there are none, whatever it calls its members.
func keeps(whole Block, path []string) bool {
	n := len(path)
	if n == 0 {
		return false
	}
	name := path[n-1]
	switch parent := path[:n-1]; {
	case n == 1:
		return slices.Contains(payloadNames, name)
	case n == 2 && path[0] == "message" && whole.Type == "", at(parent, "event", "message"):
		return slices.Contains(messageNames, name)
	case n == 2 && path[0] == "event":
		return name == "type"
	case isContent(parent) && whole.Type == "", at(parent, "event", "content_block"), at(parent, "event", "delta"):
		return slices.Contains(blockNames, name) || name == "stop_reason"
	}
	return false
}

func at(path []string, names ...string) bool { return slices.Equal(path, names) }

// isContent reports whether a place is an element of a message's content.
func isContent(path []string) bool {
	return len(path) == 3 && path[0] == "message" && path[1] == "content"
}

// isBlock reports whether the walk stands at a block that tells itself. In the
// output of a tool nothing does: it could choose what is said of it.
func (w *planWalk) isBlock() bool { return w.whole.Type == "" && isContent(w.path) }

// peek reads what a block tells of itself.
func peek(in string, pos int) (b Block) {
	if in[pos] != '{' {
		return b
	}
	c := cursor{in: in, pos: pos}
	for c.enter(); c.in[c.pos] != '}'; c.next() {
		name, _ := c.str()
		c.colon()
		if c.in[c.pos] != '"' || name != "type" && name != "name" {
			c.skip()
			continue
		}
		value, _ := c.str()
		if name == "type" {
			b.Type = value
		} else {
			b.Tool = value
		}
	}
	return b
}
