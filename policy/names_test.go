package policy

import (
	"strings"
	"testing"
)

// TestNames holds the bounds of names, which are not in their patterns.
func TestNames(t *testing.T) {
	s := load(t, Options{})
	root := workspace(t)
	for name, known := range map[string]bool{
		"x": true, "mcp__a.b:c/d-e": true, strings.Repeat("x", maxToolName): true,
		"": false, strings.Repeat("x", maxToolName+1): false, "a b": false, "a\n": false, "é": false,
	} {
		if d := decide(t, s, request(root, name, `{}`)); (d.Rule != "engine.tool_name") != known {
			t.Errorf("tool %.20q of %d bytes: %s", name, len(name), d.Rule)
		}
	}
	for name, good := range map[string]bool{
		"ab": true, "a.b-c_1": true, strings.Repeat("x", maxRuleName): true,
		"": false, "a": false, ".ab": false, "ab\n": false, "aé": false, strings.Repeat("x", maxRuleName+1): false,
	} {
		_, err := decodeOne(map[string]any{"effect": "allow", "rule": name})
		if (err == nil) != good {
			t.Errorf("rule %.20q of %d bytes: %v", name, len(name), err)
		}
	}
}
