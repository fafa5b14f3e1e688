package policy

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Bounds of what is told of a payload.
const (
	maxBlocks    = 32  // sorts of blocks in one payload; one with more is withheld
	maxBlockWord = 256 // bytes of a block's type, and of a tool's name
	maxSubtype   = 64  // bytes
)

// payloadSort is everything that a plan may depend on: the fields of a payload
// beside its data, and what a short look finds in the data. It is made for every
// payload, so it allocates nothing; its texts are parts of the data.
type payloadSort struct {
	p       event.Payload // a copy: a pointer would move the caller's to the heap
	delta   bool
	subtype []byte
	whole   redact.Block
	blocks  [maxBlocks]blockSort
	n       int
	fault   sortFault // that the look came upon
}

// blockSort is a block as the data tells it.
type blockSort struct{ kind, tool []byte }

// look finds out of what sort the payload s.p is. It does not decode it.
func (s *payloadSort) look() {
	p := &s.p
	s.delta, s.whole = p.Kind == event.Partial, wholeOf(p)
	if p.Kind == event.Partial {
		s.partial(p.Data)
		return
	}
	rawjson.Each(p.Data, func(name, value []byte) {
		switch string(plainName(name)) {
		case `"type"`:
			s.subtype = plainWord(value)
		case `"message"`:
			if s.whole.Type == "" {
				s.message(value)
			}
		}
	})
}

// plainName is the literal of a name without escapes: the walk over the payload
// reads them, too.
func plainName(literal []byte) []byte {
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal
	}
	name, err := rawjson.Name(literal)
	if err != nil {
		return literal
	}
	return []byte(`"` + name + `"`)
}

// wholeOf says what a payload is where its kind tells: what a tool was given or
// gave, and what ends a turn, which is the text of its last message.
func wholeOf(p *event.Payload) redact.Block {
	switch p.Kind {
	case event.ToolResult:
		return redact.Block{Type: "tool_result", Tool: p.Tool}
	case event.PermissionAsked, event.PermissionResult:
		return redact.Block{Type: "tool_use", Tool: p.Tool}
	case event.Result, event.Error:
		return redact.Block{Type: "text"}
	}
	if p.Tool != "" && p.Kind != event.Output && p.Kind != event.Partial {
		return redact.Block{Type: "tool_use", Tool: p.Tool}
	}
	return redact.Block{}
}

// message looks at the blocks of a message. One that is a text by itself is like a
// payload that is one block.
func (s *payloadSort) message(message []byte) {
	text := message[0] == '"'
	rawjson.Each(message, func(name, content []byte) {
		if string(plainName(name)) == `"content"` && !rawjson.Items(content, s.block) {
			text = text || content[0] == '"'
		}
	})
	switch {
	case text && s.n == 0:
		s.whole = redact.Block{Type: "text"}
	case text:
		s.add(blockSort{kind: []byte("text")})
	}
}

func (s *payloadSort) block(raw []byte) {
	var b blockSort
	rawjson.Each(raw, func(name, value []byte) {
		if value[0] != '"' {
			return // no text: as the walk over the payload, which leaves it out
		}
		switch string(plainName(name)) {
		case `"type"`:
			b.kind = s.word(value)
		case `"name"`:
			b.tool = s.word(value)
		}
	})
	s.add(b)
}

func (s *payloadSort) add(b blockSort) {
	for i := range s.n {
		if bytes.Equal(s.blocks[i].kind, b.kind) && bytes.Equal(s.blocks[i].tool, b.tool) {
			return
		}
	}
	if s.n == maxBlocks {
		s.fault = manyBlocks
		return
	}
	s.blocks[s.n] = b
	s.n++
}

// sortFault says why nothing can be told of a payload.
type sortFault uint8

const (
	noFault sortFault = iota
	manyBlocks
	longWord
	badWord
)

func (f sortFault) err() error {
	switch f {
	case noFault:
		return nil
	case manyBlocks:
		return fmt.Errorf("the payload has more than %d sorts of blocks", maxBlocks)
	case longWord:
		return fmt.Errorf("a block of the payload has a type or name of more than %d bytes", maxBlockWord)
	}
	return errors.New("a block of the payload has a type or name that is no text")
}

// word is a text's value.
func (s *payloadSort) word(value []byte) []byte {
	if len(value) > maxBlockWord+2 {
		s.fault = longWord
		return nil
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	text, err := rawjson.Name(value)
	if err != nil {
		s.fault = badWord
	}
	return []byte(text)
}

// deltaBlocks are the blocks that the pieces of a message belong to.
var deltaBlocks = map[string]string{
	"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use",
}

// partial looks at {"event": {"type", "delta": {"type"}, "content_block": {"type", "name"}}}.
func (s *payloadSort) partial(data []byte) {
	rawjson.Each(data, func(name, inner []byte) {
		if string(plainName(name)) != `"event"` {
			return
		}
		rawjson.Each(inner, func(name, value []byte) {
			switch string(plainName(name)) {
			case `"type"`:
				s.subtype = plainWord(value)
			case `"delta"`, `"content_block"`:
				s.block(value)
			}
		})
	})
	if s.n == 0 {
		return
	}
	kind := string(s.blocks[0].kind)
	if known, ok := deltaBlocks[kind]; ok {
		kind = known
	}
	s.whole = redact.Block{Type: kind, Tool: string(s.blocks[0].tool)}
	if s.whole.Tool == "" && kind == "tool_use" {
		s.whole.Tool = s.p.Tool
	}
	s.n = 0
}

// plainWord is a text of small letters, digits, dashes and low lines; nil for
// others, so that what a payload calls itself does not fill the memory of plans.
func plainWord(value []byte) []byte {
	if len(value) < 3 || value[0] != '"' || len(value) > maxSubtype+2 {
		return nil
	}
	word := value[1 : len(value)-1]
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return nil
		}
	}
	return word
}
