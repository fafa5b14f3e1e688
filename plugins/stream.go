package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Bounds of text that is held back. What is over one of them is withheld; the text
// as a whole follows in an event of its own.
const (
	MaxHeld    = 256 << 10 // bytes of one text
	MaxHeldAll = 32 << 20  // bytes of all texts of the host
)

// Stream holds a text back until it is whole where a plugin has the hook redact, so
// that what is cut by two pieces is found. Texts that are no block of a message
// pass: they have no end, and each of their lines is redacted by itself.
func (h *Host) Stream(ctx context.Context, p event.Payload) (event.Stream, error) {
	if p.Kind != event.Partial || len(h.at(RedactHook)) == 0 {
		return passing{}, nil
	}
	t := &heldText{host: h, ctx: ctx, payload: p, input: p.Tool != "" || ofTool(p.Data)}
	t.payload.Data = nil
	return t, nil
}

// ofTool says whether a text belongs to a block whose pieces are those of a document:
// the input of a call. beginning is that of the block.
func ofTool(beginning json.RawMessage) bool {
	var b struct {
		Event struct {
			Block struct {
				Type string `json:"type"`
			} `json:"content_block"`
		} `json:"event"`
	}
	return json.Unmarshal(beginning, &b) == nil && strings.HasSuffix(b.Event.Block.Type, "tool_use")
}

// passing is a stream of text that nobody looks at.
type passing struct{}

func (passing) Write(piece string) (string, []event.Redaction) { return piece, nil }
func (passing) Close() (string, []event.Redaction)             { return "", nil }

// heldText is a text that waits for its end.
type heldText struct {
	host    *Host
	ctx     context.Context
	payload event.Payload
	input   bool // the text is JSON once it is whole
	text    strings.Builder
	over    bool
}

// Write keeps a piece and lets nothing pass.
func (t *heldText) Write(piece string) (string, []event.Redaction) {
	if t.over || piece == "" {
		return "", nil
	}
	if t.text.Len()+len(piece) > MaxHeld || !reserve(&t.host.held, len(piece)) {
		t.release()
		t.over = true
		return "", nil
	}
	t.text.WriteString(piece)
	return "", nil
}

// release gives back what the text took of the host's bound.
func (t *heldText) release() string {
	text := t.text.String()
	t.text.Reset()
	t.host.held.Add(-int64(len(text)))
	return text
}

// reserve takes n bytes of MaxHeldAll, if they are there.
func reserve(held *atomic.Int64, n int) bool {
	if held.Add(int64(n)) > MaxHeldAll {
		held.Add(-int64(n))
		return false
	}
	return true
}

// Close returns the text as the plugins left it.
func (t *heldText) Close() (string, []event.Redaction) {
	text := t.release()
	if t.over {
		t.over = false
		return fmt.Sprintf("[withheld: over %d bytes of one text, or %d of all, wait for plugins]", MaxHeld, MaxHeldAll), nil
	}
	if text == "" {
		return "", nil
	}
	rest, found, err := t.redact(text)
	if err != nil {
		t.host.log.Warn("text in pieces withheld", slog.String("error", visible(err.Error())))
		return "[withheld: a plugin failed]", nil
	}
	return rest, found
}

// redact shows plugins the text as a payload that is one string, or the input of a
// call as what it says: in its text escapes could hide what is looked for.
func (t *heldText) redact(text string) (rest string, found []event.Redaction, err error) {
	p := t.payload
	if t.input && strings.ContainsAny(text, "\\{[") {
		if err := checkJSON([]byte(text)); err != nil && strings.Contains(text, "\\") {
			return "", nil, fmt.Errorf("input of a call: %w", err) // it was cut off, or could be read in two ways
		} else if err == nil {
			p.Data = json.RawMessage(text)
			out, found, err := t.host.Redact(t.ctx, p)
			return string(out), found, err
		}
	}
	if p.Data, err = json.Marshal(text); err != nil {
		return "", nil, err
	}
	out, found, err := t.host.Redact(t.ctx, p)
	if err == nil {
		err = json.Unmarshal(out, &rest)
	}
	return rest, found, err
}
