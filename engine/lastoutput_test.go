package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func TestModelTexts(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"a text", `{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"one"}]}}`, `["one"]`},
		{"texts among others", `{"message":{"content":[{"type":"thinking","text":"no"},{"type":"text","text":"one"},{"type":"tool_use","input":{"text":"no"}},{"type":"text","text":"two"}]}}`, `["one" "two"]`},
		{"a plain text", `{"message":{"content":"plain"}}`, `["plain"]`},
		{"of the CLI", `{"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`, `[]`},
		{"of the CLI, escaped", `{"message":{"model":"\u003csynthetic\u003e","content":[{"type":"text","text":"x"}]}}`, `[]`},
		{"withheld", `{"type":"withheld","kind":"output","bytes":7}`, `[]`},
		{"no object", `[1]`, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprintf("%q", modelTexts(json.RawMessage(tt.data))); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestHear(t *testing.T) {
	s := &Session{working: &Turn{}}
	hear := func(fields, shown string) {
		s.hear(message(t, "%s", fields), event.Event{Data: json.RawMessage(shown)})
	}
	text := func(s string) string { return `{"message":{"content":[{"type":"text","text":"` + s + `"}]}}` }
	hear(`{"parent_tool_use_id":null}`, text("one"))
	hear(`{}`, text("two"))
	hear(`{"parent_tool_use_id":"toolu_1"}`, text("of a sub-agent"))
	hear(`{"error":"rate_limit"}`, text("of the CLI"))
	hear(`{"isApiErrorMessage":true}`, text("of the CLI"))
	hear(`{}`, text(""))
	hear(`{"is_api_error_message":false}`, text("three"))
	s.turnEndedLocked()
	if s.lastOutput != "one\ntwo\n\nthree" || s.prompts != 1 {
		t.Errorf("%d turns, %q", s.prompts, s.lastOutput)
	}
	s.turnEndedLocked()
	if s.lastOutput != "" || s.prompts != 2 {
		t.Errorf("a turn without words: %d turns, %q", s.prompts, s.lastOutput)
	}
}

// However much is said, the end of it is kept, in whole runes.
func TestLastWordsAreBounded(t *testing.T) {
	for _, tt := range []struct{ size, least int }{
		{1, maxHeard / 200}, {1000, maxLastOutput - 4}, {maxLastOutput, maxLastOutput - 4}, {2*maxHeard + 1, maxLastOutput - 4},
	} {
		t.Run(fmt.Sprint(tt.size), func(t *testing.T) {
			var w lastWords
			text := strings.Repeat("é", tt.size)
			for said := 0; said < 3*maxHeard; said += len(text) + 50 {
				w.add(json.RawMessage(`{"message":{"content":[{"type":"text","text":"` + text + `"}]}}`))
				if w.size > maxHeard && len(w.heard) > 1 {
					t.Fatalf("%d bytes are held", w.size)
				}
			}
			got := w.String()
			if len(got) > maxLastOutput || len(got) < tt.least || !utf8.ValidString(got) || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "é") {
				t.Errorf("%d bytes, valid %v, beginning %q", len(got), utf8.ValidString(got), got[:min(len(got), 12)])
			}
		})
	}
}

func TestCutAt(t *testing.T) {
	mark := "[REDACTED:aws]"
	for _, tt := range []struct {
		name, text string
		from       int
		left       string
	}{
		{"plain", "abcdef", 3, "def"},
		{"in a rune", "aéb", 2, "b"},
		{"before a placeholder", "ab" + mark + "c", 2, mark + "c"},
		{"in a placeholder", "ab" + mark + "c", 9, "c"},
		{"in the mark itself", "ab" + mark + "c", 4, "c"},
		{"at its last byte", "ab" + mark + "c", 2 + len(mark) - 1, "c"},
		{"after it", "ab" + mark + "c", 2 + len(mark), "c"},
		{"between two", mark + mark + "c", len(mark), mark + "c"},
		{"a mark without an end", "a" + redactionMark + strings.Repeat("x", 400), 300, strings.Repeat("x", 400+1+len(redactionMark)-300)},
		{"the end", "abc", 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.text[cutAt(tt.text, tt.from):]; got != tt.left {
				t.Errorf("%q, want %q", got, tt.left)
			}
		})
	}
}
