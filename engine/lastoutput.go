package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// maxLastOutput bounds Info.LastOutput, in bytes. What the model said last is kept.
const maxLastOutput = 64 << 10

// keptLastOutput bounds what of it the record keeps, in bytes.
const keptLastOutput = 4 << 10

// maxHeard bounds the messages of a turn that are kept for it, in bytes.
const maxHeard = 8 * maxLastOutput

// lastWords are messages of the model since the last turn ended, as they are told,
// the newest last. They are looked into when it is asked what it said: most turns
// have many. Guarded by Session.mu.
type lastWords struct {
	heard []json.RawMessage
	size  int
	cut   bool // the oldest are gone
}

// hear takes note of an assistant message: shown is the event that tells it, so only
// what redaction left of it is kept.
func (s *Session) hear(fields map[string]json.RawMessage, shown event.Event) {
	said := synthesised(fields)
	parent := fields["parent_tool_use_id"]
	mainThread := len(parent) == 0 || string(parent) == "null"
	s.noteWords(said, mainThread)
	callsOnly := bytes.Contains(shown.Data, []byte(`"tool_use"`)) && !bytes.Contains(shown.Data, []byte(`"text"`))
	if !mainThread || said != "" || callsOnly {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words.add(shown.Data)
}

// synthesised is the failure that a message of the CLI's own tells of, "" for one of
// the model.
func synthesised(fields map[string]json.RawMessage) string {
	var said string
	if raw := fields["error"]; len(raw) > 0 {
		_ = json.Unmarshal(raw, &said) // null, or no text
	}
	for _, name := range []string{"is_api_error_message", "isApiErrorMessage"} {
		if said == "" && string(fields[name]) == "true" {
			said = "unknown"
		}
	}
	return said
}

// modelTexts are the text blocks of an output event, none of one that the CLI made up.
func modelTexts(data json.RawMessage) []string {
	var e struct {
		Message struct {
			Model   string
			Content json.RawMessage
		}
	}
	if json.Unmarshal(data, &e) != nil || e.Message.Model == "<synthetic>" {
		return nil // withheld, or no words of the model
	}
	var text string
	if json.Unmarshal(e.Message.Content, &text) == nil {
		return []string{text}
	}
	var blocks []struct{ Type, Text string }
	_ = json.Unmarshal(e.Message.Content, &blocks) // an odd block leaves the rest
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

func (w *lastWords) add(data json.RawMessage) {
	w.heard, w.size = append(w.heard, data), w.size+len(data)
	for w.size > maxHeard && len(w.heard) > 1 {
		w.size -= len(w.heard[0])
		w.heard[0] = nil
		w.heard, w.cut = w.heard[1:], true
	}
}

func (w *lastWords) String() string {
	var texts []string
	for _, data := range w.heard {
		texts = append(texts, modelTexts(data)...)
	}
	if w.cut {
		texts = append([]string{"…"}, texts...)
	}
	return ending(strings.Join(texts, "\n"), maxLastOutput)
}

// ending is the end of a redacted text, at most limit bytes, which begins with "…"
// where something was left out.
func ending(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return "…" + text[cutAt(text, len(text)-limit+len("…")):]
}

// maxMark is longer than any placeholder of redaction, in bytes.
const maxMark = 256

// cutAt is the first place from from on that is neither inside a rune nor inside a
// placeholder of redaction: half of one would look like words of the model.
func cutAt(text string, from int) int {
	near := text[max(from-maxMark, 0):min(from+len(redactionMark)-1, len(text))]
	if i := strings.LastIndex(near, redactionMark); i >= 0 {
		start := max(from-maxMark, 0) + i
		if n := strings.IndexByte(text[start:min(start+maxMark, len(text))], ']'); start < from && start+n >= from {
			from = start + n + 1
		}
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return from
}

// turnEndedLocked counts a turn, and keeps what the model said in it. One that only
// waited for its slot was none.
func (s *Session) turnEndedLocked() {
	if s.working != nil && s.working.inLine {
		return
	}
	s.prompts++
	s.lastOutput, s.words = s.words.String(), lastWords{}
}
