package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What a record shows of an input is redacted first and cut then, since of a
// secret cut in two neither half would be recognised. Of a long input only the
// beginning is redacted, and all that a secret could reach from there beyond the
// end of it is left out.

const (
	excerptShown  = 2<<10 - len("…") // bytes of an excerpt
	reasonShown   = 1<<10 - len("…") // bytes of a reason or message
	errorShown    = 256 - len("…")   // bytes of a plugin's error
	excerptWindow = 72 << 10         // bytes of an input that are redacted
	// excerptMargin is left out before the end of a window that is not the whole
	// input: the longest secret a redactor knows is 64 KiB, the rest is for the
	// brackets that close the window, at most one each level of control.MaxDepth.
	excerptMargin = 66 << 10
)

// recordTexts are those of a record that came from somebody else.
type recordTexts struct {
	Tool      string          `json:"toolName,omitempty"`
	ToolUseID string          `json:"toolUseID,omitempty"`
	AgentID   string          `json:"agentID,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	Rules     []string        `json:"rules,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Message   string          `json:"message,omitempty"`
	Errors    []string        `json:"errors,omitempty"` // of plugins
	Input     json.RawMessage `json:"-"`                // a JSON value; nil: none is shown
}

// cover is a redactor chain, see event.Redact.
type cover func(event.Payload) (json.RawMessage, []event.Redaction, bool)

// coverAll covers given, the JSON of v, and decodes what comes of it: never into v
// itself, which may share the bytes that would run. False when it cannot.
func coverAll[T any](c cover, v T, given json.RawMessage, tool string) (T, bool) {
	data, _, ok := c(event.Payload{Sink: event.SinkAudit, Kind: event.Notice, Tool: tool, Data: given})
	var out T
	switch {
	case !ok:
		return out, false
	case bytes.Equal(data, given):
		return v, true
	}
	return out, json.Unmarshal(data, &out) == nil
}

// shownInput is an input by itself.
type shownInput struct {
	Input json.RawMessage `json:"input"`
}

// covered redacts the texts and cuts them: what repeats the call as the input of
// its tool, the rest as what is of none. What cannot be redacted is withheld.
// Input is valid JSON or nil.
func (t recordTexts) covered(c cover, tool string) (recordTexts, string) {
	input := shownInput{t.Input}
	cut := len(input.Input) > excerptWindow
	if cut {
		input.Input = closedPrefix(input.Input, excerptWindow)
	}
	ok := true
	if input.Input != nil {
		given := slices.Concat(json.RawMessage(`{"input":`), input.Input, json.RawMessage(`}`))
		input, ok = coverAll(c, input, given, tool)
	}
	given, err := plainJSON(t)
	if !ok || err != nil {
		return recordTexts{}, withheldText
	}
	out, ok := coverAll(c, t, given, "")
	if !ok {
		return recordTexts{}, withheldText
	}
	out.Tool, out.ToolUseID, out.AgentID = clip(out.Tool), clip(out.ToolUseID), clip(out.AgentID)
	out.Reason, out.Message = shortened(visible(out.Reason), reasonShown), shortened(visible(out.Message), reasonShown)
	out.Errors = slices.Clone(out.Errors) // t's own, where nothing was covered
	for i, e := range out.Errors {
		out.Errors[i] = shortened(visible(e), errorShown)
	}
	return out, excerptOf(input.Input, cut)
}

// excerptOf is the beginning of what was redacted; cut says that it was not all.
func excerptOf(redacted json.RawMessage, cut bool) string {
	if !cut {
		return shortened(string(redacted), excerptShown)
	}
	keep := min(max(len(redacted)-excerptMargin, 0), excerptShown)
	return strings.ToValidUTF8(string(redacted[:keep]), "") + "…"
}

// plainJSON is json.Marshal that leaves <, > and & as they are: people read it.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// shortened cuts a text to n bytes, between characters, and says so.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// closedPrefix is the beginning of a JSON value, at most n bytes of it, closed so
// that it is JSON again. raw is valid.
func closedPrefix(raw json.RawMessage, n int) json.RawMessage {
	var w prefixWalk
	for i := 0; i < min(n, len(raw)); i++ {
		w.step(raw, i)
	}
	out := append(json.RawMessage(nil), raw[:w.safe]...)
	if w.safeInText {
		out = append(out, '"')
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		out = append(out, w.open[i])
	}
	if len(out) == 0 {
		return json.RawMessage("null")
	}
	return out
}

// prefixWalk follows a JSON value byte by byte. safe is the last place at which
// the value can be closed.
type prefixWalk struct {
	open       []byte // the brackets that would close it
	inText     bool
	key        bool // the next text is a name
	skip       int  // bytes of an escape that are still to come
	safe       int
	safeInText bool
}

func (w *prefixWalk) step(raw []byte, i int) {
	b := raw[i]
	if w.inText {
		w.text(raw, i)
		return
	}
	switch b {
	case '{', '[':
		w.open, w.key = append(w.open, b+2), b == '{' // the closing one stands two behind
		w.settle(i + 1)
	case '}', ']':
		w.open, w.key = w.open[:len(w.open)-1], false
		w.settle(i + 1)
	case ',':
		w.key = w.open[len(w.open)-1] == '}'
		w.settle(i) // what came before is whole
	case ':':
		w.key = false
	case '"':
		w.inText = true
	}
}

// text follows one, in which a value can be cut between characters.
func (w *prefixWalk) text(raw []byte, i int) {
	switch b := raw[i]; {
	case w.skip > 0:
		w.skip--
		return
	case b == '"':
		w.inText = false
		if !w.key {
			w.settle(i + 1)
		}
		return
	case !utf8.RuneStart(b):
		return
	case b == '\\':
		w.skip = 1
		if i+1 < len(raw) && raw[i+1] == 'u' {
			w.skip = 5
		}
	}
	if !w.key {
		w.safe, w.safeInText = i, true
	}
}

func (w *prefixWalk) settle(at int) { w.safe, w.safeInText = at, false }
