package upstream

import (
	"encoding/json"
	"strings"
	"testing"
)

// The texts have their invisible characters escaped, so that a reader sees them.
func TestPlain(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Caution \u26a0\ufe0f now", "Caution \u26a0 now"},
		{"1\ufe0f\u20e3 first, \u2194\ufe0e both", "1\u20e3 first, \u2194 both"},
		{"\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\U0001f469\U0001f467"},
		{"\u2764\ufe0f\u200d\U0001f525", "\u2764\U0001f525"},
		{"\U0001f575\U0001f3fd\u200d\u2642\ufe0f", "\U0001f575\U0001f3fd\u2642"},
		{"no emoji", "no emoji"},

		{"a\ufe0f\ufe0f", "a\ufe0f"}, // a run of them hides a message
		{"\ufe0fa", "\ufe0fa"},
		{"a \ufe0fb", "a \ufe0fb"},
		{"\u200b\ufe0f", "\u200b\ufe0f"},
		{"a\u200db", "a\u200db"},
		{"\U0001f468\u200d", "\U0001f468\u200d"},
		{"\U0001f468\u200d\u200d\U0001f469", "\U0001f468\u200d\u200d\U0001f469"},
		{"a\ufe01", "a\ufe01"},
		{"\U0001f3f4\U000e0067\U000e007f", "\U0001f3f4\U000e0067\U000e007f"},
	} {
		if got := plain(tt.text); got != tt.want {
			t.Errorf("%+q became %+q, want %+q", tt.text, got, tt.want)
		}
	}
}

// A tool whose author likes emoji is offered; what a value must be is not changed.
func TestToolsWithEmoji(t *testing.T) {
	read := func(schema string) (string, string) {
		tool, problem := readTool(json.RawMessage(`{"name":"a","title":"Run \u25b6\ufe0f","description":"Dangerous \u26a0\ufe0f","annotations":{"title":"\u25b6\ufe0f"},"inputSchema":` + schema + `}`))
		return tool.Title + tool.Description + string(tool.Annotations) + string(tool.InputSchema), problem
	}
	got, problem := read(`{"type":"object","properties":{"a":{"type":"number","description":"\u2764\ufe0f <b>","maximum":12345678901234567890}}}`)
	if problem != "" || strings.ContainsRune(got, '\ufe0f') || !strings.Contains(got, "Dangerous \u26a0") ||
		!strings.Contains(got, `"description":"`+"\u2764"+` <b>","maximum":12345678901234567890`) {
		t.Errorf("%q, %+q", problem, got)
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"enum":["\u2705\ufe0f"]}}}`,
		`{"type":"object","properties":{"\u2705\ufe0f":{}}}`,
		`{"type":"object","description":"a\u200bb"}`,
	} {
		if _, problem := read(schema); !strings.Contains(problem, "invisible") {
			t.Errorf("%s: %q", schema, problem)
		}
	}
}
