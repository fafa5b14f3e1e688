package author

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

const scanPolicy = `package gatehouse.permission

import data.gatehouse.plugins

decisions contains {"effect": "deny", "rule": "team.scan", "reason": "the scanner has not looked"} if {
	input.tool.name == "Bash"
	not plugins.plugin_ok("scan")
}

decisions contains {"effect": "ask", "rule": "team.risk", "reason": "the scanner is not sure"} if {
	plugins.plugin_ok("scan")
	plugins.plugin_annotation("scan", "risk", "high") != "low"
}
`

const scanTest = `package gatehouse.team_test

import data.gatehouse.permission
import data.gatehouse.plugins
import data.gatehouse.testing

said(document) := all if all := testing.said(permission.decisions) with input as document

test_nobody_looked if said(testing.bash("ls")) == {"deny:team.scan"}

test_failed if {
	document := testing.with_plugin(testing.bash("ls"), "scan", {"ok": false, "error": "stopped after 200ms"})
	said(document) == {"deny:team.scan"}
}

test_risk if {
	said(testing.with_plugin(testing.bash("ls"), "scan", {"annotations": {"risk": "some"}})) == {"ask:team.risk"}
	said(testing.with_plugin(testing.bash("ls"), "scan", {})) == {"ask:team.risk"}
	said(testing.with_plugin(testing.bash("ls"), "scan", {"annotations": {"risk": "low"}})) == set()
}

test_two if {
	document := testing.with_plugin(testing.with_plugin(testing.start({}), "a", {"verdict": "allow"}), "b", {"annotations": {"x": 1}})
	plugins.plugin_ok("a") with input as document
	plugins.plugin_annotation("b", "x", 0) == 1 with input as document
}
`

// TestPluginsInTests: rules with the helpers are tested, measured and explained as
// others, and the helpers are no lines of the author's.
func TestPluginsInTests(t *testing.T) {
	s := Suite{Sources: written("scan.rego", scanPolicy, "scan_test.rego", scanTest), Documents: documents(t), Coverage: true}
	r, err := s.Test(context.Background())
	if err != nil || !r.OK || r.Passed != 4 {
		t.Fatalf("report %+v, %v", r, err)
	}
	if c := r.Coverage; c.Percent != 100 || len(c.Files) != 1 || c.Files[0].File != "scan.rego" {
		t.Errorf("coverage %+v", c)
	}
	if found := Lint(Linting{Sources: s.Sources}); len(found) != 1 || found[0].ID != "no-agent-message" {
		t.Errorf("lint %v", found)
	}
	document := json.RawMessage(`{"tool":{"name":"Bash"},"plugins":{"scan":{"ok":true,"verdict":"pass"}}}`)
	costs, err := Costs(context.Background(), policy.Suite{Sources: s.Sources[:1]}, policy.EntryPermission, document, 2, 20)
	if err != nil || len(costs) == 0 {
		t.Errorf("costs %v, %v", costs, err)
	}
}

// TestPluginsExplained: a helper that stops a rule is shown with its line and what
// it read.
func TestPluginsExplained(t *testing.T) {
	text := head + "import data.gatehouse.plugins\n\n" + allow2("plugins.plugin_ok(\"scan\")")
	all, err := Explain(context.Background(), policy.Suite{Layer: "user", Sources: written("scan.rego", text)}, policy.EntryPermission,
		json.RawMessage(`{"tool":{"name":"Bash"},"plugins":{"scan":{"ok":false,"error":"stopped after 200ms"}}}`))
	if err != nil || len(all) != 1 || all[0].Fired || all[0].Failure == nil {
		t.Fatalf("traces %+v, %v", all, err)
	}
	f := all[0].Failure
	if f.Line != 6 || f.Expression != `plugins.plugin_ok("scan")` {
		t.Errorf("failure %+v", f)
	}
	b := f.Because
	if b == nil || b.File != policy.PluginsModule || b.Expression != "input.plugins[name].ok" || len(b.Values) == 0 || b.Values[0].Name != "input.plugins[name].ok" {
		t.Errorf("because %+v", b)
	}
}

// TestPluginsInDocs runs the example of docs/policy.md with its tests.
func TestPluginsInDocs(t *testing.T) {
	guide, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(guide), "\n## Plugins\n")
	blocks := strings.Split(section, "```rego\n")
	if !found || len(blocks) < 3 {
		t.Fatal("docs/policy.md has no example of rules about plugins, or no test of them")
	}
	rules, _, _ := strings.Cut(blocks[1], "```")
	tests, _, _ := strings.Cut(blocks[2], "```")
	s := Suite{Sources: written("docs.rego", rules, "docs_test.rego", tests), Documents: documents(t), Coverage: true}
	r, err := s.Test(context.Background())
	if err != nil || !r.OK || r.Passed != 2 || r.Coverage.Percent != 100 {
		t.Errorf("report %+v, coverage %+v, %v", r, r.Coverage, err)
	}
	if found := Lint(Linting{Sources: s.Sources}); len(found) != 0 {
		t.Errorf("lint %v", found)
	}
}
