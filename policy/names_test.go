package policy

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
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
		"ab": true, "a.b-c_1": true, "engine": true, "plugins.x": true, strings.Repeat("x", maxRuleName): true,
		"": false, "a": false, ".ab": false, "ab\n": false, "aé": false, strings.Repeat("x", maxRuleName+1): false,
		"engine.audit": false, "plugin.scan": false, "plugin.scan.error": false,
	} {
		_, err := decodeOne(map[string]any{"effect": "allow", "rule": name})
		if (err == nil) != good {
			t.Errorf("rule %.20q of %d bytes: %v", name, len(name), err)
		}
	}
}

// TestReservedNames: no rule takes the name of the server's own, or of a plugin's.
func TestReservedNames(t *testing.T) {
	for _, name := range []string{"engine.error", "plugin.scan"} {
		_, err := Load(t.Context(), Options{Paths: []string{userPolicy(t, head+sayIf("allow", name, "true"))}, Deadline: generous, Home: "/nonexistent-home"})
		if err == nil || !strings.Contains(err.Error(), ruleReserved) {
			t.Errorf("written out as %s: %v", name, err)
		}
		computed := strings.ReplaceAll(sayIf("allow", name, "true"), `"`+name+`"`, `lower("`+strings.ToUpper(name)+`")`)
		d := decide(t, load(t, Options{Paths: []string{userPolicy(t, head+computed)}}), request(t.TempDir(), "mcp__a__b", `{}`))
		if d.Effect != permission.Deny || d.Rule != "engine.decode" {
			t.Errorf("computed as %s: %s by %s", name, d.Effect, d.Rule)
		}
	}
}
