package upstream

import (
	"encoding/json"
	"testing"
)

// Of two tools that the CLI spells alike the first that is offered is kept; one that
// is not offered hides none.
func TestToolsThatAreSpeltAlike(t *testing.T) {
	s := &Server{}
	s.c.Tools = []string{"a_b", "c.d", "c_d"}
	var raw []json.RawMessage
	for _, name := range []string{"a.b", "a_b", "c.d", "c_d"} {
		raw = append(raw, json.RawMessage(`{"name":"`+name+`","inputSchema":{"type":"object"}}`))
	}
	left := map[string]bool{}
	for _, c := range s.sift(raw) {
		left[c.tool.Name] = c.leftOut != ""
	}
	for name, want := range map[string]bool{"a.b": true, "a_b": false, "c.d": false, "c_d": true} {
		if left[name] != want {
			t.Errorf("%s left out: %v, want %v", name, left[name], want)
		}
	}
}
