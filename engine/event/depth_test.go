package event

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDeepPayloads(t *testing.T) {
	nested := func(n int, inner string) string {
		return strings.Repeat("[", n) + inner + strings.Repeat("]", n)
	}
	for _, tt := range []struct {
		name, data string
		kept       bool
	}{
		{"as deep as may be", nested(MaxDepth, ""), true},
		{"deeper", nested(MaxDepth+1, ""), false},
		{"brackets in a text", `["\\\"` + strings.Repeat("[{", MaxDepth) + `"]`, true},
		{"many beside each other", "[" + strings.Repeat("[],", MaxDepth) + "{}]", true},
		{"deeper behind a text", `["` + strings.Repeat("]", MaxDepth) + `",` + nested(MaxDepth, "1") + "]", false},
	} {
		e := NewLog(0).Append(t.Context(), Output, json.RawMessage(tt.data))
		if kept := string(e.Data) == tt.data; kept != tt.kept {
			t.Errorf("%s: kept %v, %.200s", tt.name, kept, e.Data)
		}
		if !tt.kept && (!json.Valid(e.Data) || !strings.Contains(string(e.Data), `"type":"withheld"`)) {
			t.Errorf("%s: %s", tt.name, e.Data)
		}
	}
}
