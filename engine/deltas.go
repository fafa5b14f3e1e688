package engine

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// A message that arrives in pieces may have a secret cut in two. So each text of
// each block runs through a stream of the redactors, which holds back what may be
// the beginning of a secret; that follows with a later piece, or in a piece of
// its own before the block ends. A piece of which nothing may pass yet is left
// out. Put together, the pieces are the text with its secrets covered.

// deltas are the blocks under way of a process. They are for one goroutine.
type deltas struct {
	begin func(b block) (event.Stream, error) // nil without error: no redactor takes pieces
	store func(raw, parent json.RawMessage, tool string, found []event.Redaction)
	tell  func(message string) // once, when a text is not shown in pieces

	blocks map[blockKey]*block
	last   int  // number of the block that began last
	plain  bool // no redactor takes pieces
	told   bool
}

// Bounds of what is under way; what finds no room is not shown in pieces.
const (
	maxBlocks     = 64  // blocks at once
	maxBlockTexts = 4   // texts of one block
	maxBlockName  = 256 // bytes of each of the names of a block: its call, its index, its kind, its tool
)

// blockKey is the call that started the sub-agent, and the block's index, as they came.
type blockKey struct{ parent, index string }

type block struct {
	kind  string // of the model's API: "text", "thinking", "tool_use", …
	tool  string // that it calls
	texts []*blockText
	began int
}

// blockText is the member text, thinking or partial_json of the pieces of a block.
type blockText struct {
	member, kind string
	stream       event.Stream // nil: no redactor takes pieces
	owed         []event.Redaction
}

// handle takes one event of the model's API and stores what of it may be shown.
func (d *deltas) handle(raw, parent json.RawMessage) {
	if d.plain {
		d.store(raw, parent, "", nil)
		return
	}
	e := membersOf(raw)
	if len(parent) > maxBlockName || len(e["index"]) > maxBlockName {
		d.leaveOut(unnamed)
		return
	}
	key := blockKey{string(parent), string(e["index"])}
	switch textOf(e["type"]) {
	case "content_block_start":
		d.end(key)
		d.start(key, e, parent)
		return
	case "content_block_delta":
		d.piece(key, e, parent)
		return
	case "content_block_stop":
		d.end(key)
	case "message_start", "message_stop":
		d.endAll(func(k blockKey) bool { return k.parent == key.parent })
	}
	d.store(raw, parent, "", nil)
}

// at returns a block that is under way or begins, nil when there is no room.
func (d *deltas) at(key blockKey) *block {
	if b := d.blocks[key]; b != nil {
		return b
	}
	if len(d.blocks) >= maxBlocks {
		d.leaveOut(tooMany)
		return nil
	}
	if d.blocks == nil {
		d.blocks = make(map[blockKey]*block)
	}
	d.last++
	b := &block{began: d.last}
	d.blocks[key] = b
	return b
}

const (
	tooMany    = "too many texts arrive in pieces at once; those that found no room are shown only when they are complete"
	unnamed    = "a text that arrives in pieces has a name over the bound; it is shown only when it is complete"
	unredacted = "a text that arrives in pieces could not be redacted; it is shown only when it is complete"
)

func (d *deltas) leaveOut(why string) {
	if !d.told {
		d.told = true
		d.tell(why)
	}
}

// start begins a block. A text that it brings along is its first piece.
func (d *deltas) start(key blockKey, e map[string]json.RawMessage, parent json.RawMessage) {
	content := membersOf(e["content_block"])
	kind, tool := textOf(content["type"]), textOf(content["name"])
	if len(kind) > maxBlockName || len(tool) > maxBlockName {
		d.leaveOut(unnamed)
		return
	}
	b := d.at(key)
	if b == nil {
		return
	}
	if b.kind = kind; kind == "tool_use" {
		b.tool = tool
	}
	var found []event.Redaction
	for _, member := range []string{"text", "thinking"} {
		if textOf(content[member]) != "" {
			_, found = d.pass(b, content, member, member+"_delta", "/event/content_block", found)
		}
	}
	e["content_block"] = rejoined(content, e["content_block"])
	d.store(rejoined(e, null), parent, b.tool, found)
}

// wholeMembers of a delta are no pieces of a text: its kind, and a proof that only
// the API can check.
var wholeMembers = []string{"type", "signature"}

// piece stores what of a delta may be shown by now.
func (d *deltas) piece(key blockKey, e map[string]json.RawMessage, parent json.RawMessage) {
	b := d.at(key)
	if b == nil {
		return
	}
	delta := membersOf(e["delta"])
	kind := textOf(delta["type"])
	var found []event.Redaction
	held, shown := false, false
	for _, member := range slices.Sorted(maps.Keys(delta)) {
		if slices.Contains(wholeMembers, member) {
			shown = shown || member != "type"
			continue
		}
		given := textOf(delta[member])
		if given == "" { // no text, or an empty one
			shown = true
			continue
		}
		safe, more := d.pass(b, delta, member, kind, "/event/delta", found)
		found = more
		held, shown = held || safe == "", shown || safe != ""
	}
	if held && !shown {
		return
	}
	e["delta"] = rejoined(delta, e["delta"])
	d.store(rejoined(e, null), parent, b.tool, found)
}

// pass runs the text in a member through the stream of its block and puts what is
// safe in its place.
func (d *deltas) pass(b *block, in map[string]json.RawMessage, member, kind, pointer string, found []event.Redaction) (string, []event.Redaction) {
	t := d.text(b, member, kind)
	if t == nil {
		in[member] = json.RawMessage(`""`)
		return "", found
	}
	safe := textOf(in[member])
	if t.stream == nil {
		return safe, found
	}
	safe, more := t.stream.Write(safe)
	t.owed = append(t.owed, more...)
	if safe != "" {
		found, t.owed = append(found, pointing(t.owed, pointer+"/"+member)...), nil
	}
	in[member], _ = json.Marshal(safe)
	return safe, found
}

// text returns a text of a block, nil when there is no room or it cannot be covered.
func (d *deltas) text(b *block, member, kind string) *blockText {
	for _, t := range b.texts {
		if t.member == member {
			t.kind = kind
			return t
		}
	}
	if len(b.texts) >= maxBlockTexts {
		d.leaveOut(tooMany)
		return nil
	}
	stream, err := d.begin(*b)
	if err != nil {
		d.leaveOut(unredacted)
		return nil
	}
	d.plain = stream == nil
	t := &blockText{member: member, kind: kind, stream: stream}
	b.texts = append(b.texts, t)
	return t
}

// end closes a block: what was held back of its texts is stored.
func (d *deltas) end(key blockKey) {
	b := d.blocks[key]
	if b == nil {
		return
	}
	delete(d.blocks, key)
	for _, t := range b.texts {
		if t.stream == nil {
			continue
		}
		rest, more := t.stream.Close()
		if t.owed = append(t.owed, more...); rest == "" && len(t.owed) == 0 {
			continue
		}
		raw, err := json.Marshal(map[string]any{
			"type": "content_block_delta", "index": json.RawMessage(cmp.Or(key.index, "null")),
			"delta": map[string]string{"type": t.kind, t.member: rest},
		})
		if err == nil {
			d.store(raw, json.RawMessage(key.parent), b.tool, pointing(t.owed, "/event/delta/"+t.member))
		}
	}
}

// endAll closes the blocks that are meant, in the order they began.
func (d *deltas) endAll(meant func(blockKey) bool) {
	keys := slices.Collect(maps.Keys(d.blocks))
	slices.SortFunc(keys, func(a, b blockKey) int { return d.blocks[a].began - d.blocks[b].began })
	for _, key := range keys {
		if meant(key) {
			d.end(key)
		}
	}
}
