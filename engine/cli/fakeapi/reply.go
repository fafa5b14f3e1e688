package fakeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// defaultChunk is the size of a delta in bytes; inputs above largeBlock go in
// deltas of bigChunk, or a 5 MiB input would take a hundred thousand events.
const (
	defaultChunk = 40
	largeBlock   = 20_000
	bigChunk     = 64 << 10
)

type object = map[string]any

// message is one reply, ready to be sent whole or as a stream.
type message struct {
	id, model, stop string
	blocks          []block
	usage           Usage
}

// block is a content block in its wire form and the delta that builds it.
type block struct {
	whole object // as in a reply that is not streamed
	start object // content_block_start
	delta string // type of the deltas
	field string // key of the delta's text
	text  string // what the deltas carry together
}

func (s *Server) message(model string, t Turn) message {
	m := message{id: s.id("msg"), model: cmp.Or(model, "fake"), stop: "end_turn", usage: t.Usage}
	m.usage.InputTokens = cmp.Or(m.usage.InputTokens, 100)
	m.usage.OutputTokens = cmp.Or(m.usage.OutputTokens, 20)
	for _, b := range t.content() {
		if b.Type == "tool_use" {
			m.stop = "tool_use"
		}
		m.blocks = append(m.blocks, s.block(b))
	}
	m.stop = cmp.Or(t.StopReason, m.stop)
	return m
}

func (t Turn) content() []Block {
	if t.Content != nil {
		return t.Content
	}
	if len(t.Tools) == 0 {
		return []Block{{Type: "text", Text: t.Text}}
	}
	blocks := make([]Block, len(t.Tools))
	for i, use := range t.Tools {
		blocks[i] = Block{Type: "tool_use", Tool: use}
	}
	return blocks
}

func (s *Server) block(b Block) block {
	switch b.Type {
	case "tool_use":
		return s.toolBlock(b.Tool)
	case "thinking":
		return block{
			whole: object{"type": "thinking", "thinking": b.Text, "signature": "ZmFrZQ=="},
			start: object{"type": "thinking", "thinking": "", "signature": ""},
			delta: "thinking_delta", field: "thinking", text: b.Text,
		}
	}
	return block{
		whole: object{"type": "text", "text": b.Text},
		start: object{"type": "text", "text": ""},
		delta: "text_delta", field: "text", text: b.Text,
	}
}

func (s *Server) toolBlock(use ToolUse) block {
	if use.ID == "" {
		use.ID = s.id("toolu")
	}
	if use.Input == nil {
		use.Input = struct{}{}
	}
	input, err := json.Marshal(use.Input)
	if err != nil {
		panic(fmt.Sprintf("fake api: input of %s: %v", use.Name, err)) // a mistake in the scenario
	}
	base := object{"type": "tool_use", "id": use.ID, "name": use.Name}
	return block{
		whole: with(base, "input", json.RawMessage(input)),
		start: with(base, "input", struct{}{}),
		delta: "input_json_delta", field: "partial_json", text: string(input),
	}
}

func (m message) envelope() object {
	return object{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": m.tokens(1),
	}
}

func (m message) tokens(output int) object {
	return object{
		"input_tokens": m.usage.InputTokens, "output_tokens": output,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

func (m message) whole() object {
	content := make([]any, len(m.blocks))
	for i, b := range m.blocks {
		content[i] = b.whole
	}
	o := m.envelope()
	o["content"], o["stop_reason"], o["usage"] = content, m.stop, m.tokens(m.usage.OutputTokens)
	return o
}

// stream sends m as server-sent events; it gives up when the client leaves.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, m message, t Turn) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Request-Id", "req_"+m.id)
	send := func(kind string, o object) bool { return sendEvent(w, kind, o) }
	if !send("message_start", object{"message": m.envelope()}) {
		return
	}
	for i, b := range m.blocks {
		send("content_block_start", object{"index": i, "content_block": b.start})
		for _, piece := range pieces(b.text, t.Chunk) {
			if !s.pause(r, t.ChunkDelay) {
				return
			}
			send("content_block_delta", object{"index": i, "delta": object{"type": b.delta, b.field: piece}})
		}
		if b.delta == "thinking_delta" {
			send("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": "ZmFrZQ=="}})
		}
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"delta": object{"stop_reason": m.stop, "stop_sequence": nil}, "usage": m.tokens(m.usage.OutputTokens)})
	send("message_stop", object{})
}

func sendEvent(w http.ResponseWriter, kind string, o object) bool {
	data, err := json.Marshal(with(o, "type", kind))
	if err != nil {
		panic("fake api: " + err.Error())
	}
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// pieces cuts text into deltas of size bytes without splitting a character.
func pieces(text string, size int) []string {
	size = cmp.Or(size, defaultChunk)
	if len(text) > largeBlock {
		size = bigChunk
	}
	var out []string
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// with returns a copy of o with one more key.
func with(o object, key string, value any) object {
	c := object{key: value}
	for k, v := range o {
		c[k] = v
	}
	return c
}
