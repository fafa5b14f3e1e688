package policy

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/tester"
)

// TestLibrary runs the helpers' own tests.
func TestLibrary(t *testing.T) {
	text, err := os.ReadFile("library/plugins_test.rego")
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]*ast.Module{}
	for name, text := range map[string]string{"plugins.rego": pluginsModule, "plugins_test.rego": string(text)} {
		if modules[name], err = ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV2}); err != nil {
			t.Fatal(err)
		}
	}
	seen := cover.New()
	results, err := tester.NewRunner().SetCoverageQueryTracer(seen).SetModules(modules).SetDefaultRegoVersion(ast.RegoV2).
		RaiseBuiltinErrors(true).SetTimeout(generous).RunTests(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range results {
		if n++; !r.Pass() {
			t.Errorf("%s at %s: %v", r.Name, r.Location, r.Error)
		}
	}
	if file := seen.Report(modules).Files["plugins.rego"]; n < 7 || len(file.NotCovered) > 0 {
		t.Errorf("%d tests, not covered: %v", n, file.NotCovered)
	}
}

// TestLibraryIsCompiledWhereItIsNamed: layers that do not name the helpers are as
// they were, and those that do have another revision.
func TestLibraryIsCompiledWhereItIsNamed(t *testing.T) {
	without := load(t, Options{Paths: []string{userPolicy(t, head+sayIf("deny", "x.y", "true"))}})
	with := load(t, Options{Paths: []string{userPolicy(t, head+"import data.gatehouse.plugins\n\n"+sayIf("deny", "x.y", `not plugins.plugin_ok("scan")`))}})
	for _, l := range append(without.layers, with.layers[0]) {
		if l.usesLibrary() {
			t.Errorf("layer %s has the helpers", l.name)
		}
	}
	if l := with.layers[1]; !l.usesLibrary() || len(l.sources) != 1 {
		t.Errorf("layer %s: helpers %t, %d sources", l.name, l.usesLibrary(), len(l.sources))
	}
	if reads := with.allReads(); !reads["plugins"] || without.allReads()["plugins"] {
		t.Errorf("rules with the helpers look at %v", reads)
	}
}

// TestHelpersInEveryLayer: each layer may import them, by any name.
func TestHelpersInEveryLayer(t *testing.T) {
	for name, text := range map[string]string{
		"package":     "import data.gatehouse.plugins\n\n" + sayIf("deny", "x.scan", `not plugins.plugin_ok("scan")`),
		"another":     "import data.gatehouse.plugins as p\n\n" + sayIf("deny", "x.scan", `not p.plugin_ok("scan")`),
		"function":    "import data.gatehouse.plugins.plugin_ok\n\n" + sayIf("deny", "x.scan", `not plugin_ok("scan")`),
		"whole name":  sayIf("deny", "x.scan", `not data.gatehouse.plugins.plugin_ok("scan")`),
		"annotation":  "import data.gatehouse.plugins\n\n" + sayIf("deny", "x.scan", `plugins.plugin_annotation("scan", "risk", "high") == "high"`),
		"in a reason": "import data.gatehouse.plugins\n\n" + `decisions contains {"effect": "deny", "rule": "x.scan", "reason": concat(" ", ["risk", plugins.plugin_annotation("scan", "risk", "high")])} if not plugins.plugin_ok("scan")`,
	} {
		t.Run(name, func(t *testing.T) {
			for layer, o := range map[string]Options{
				"user": {Paths: []string{userPolicy(t, head+text)}},
				"org":  {OrgModules: map[string]string{"org.rego": head + text}},
			} {
				s := load(t, o)
				r := request(t.TempDir(), "mcp__a__b", `{}`)
				if d := decide(t, s, r); d.Rule != "x.scan" || d.Layer != layer {
					t.Errorf("%s without the plugin: %s by %s (%s)", layer, d.Effect, d.Rule, d.Reason)
				}
				r.Annotations = []permission.Annotation{annotated("scan", `"low"`)}
				if d := decide(t, s, r); d.Rule != "engine.default" {
					t.Errorf("%s with the plugin: %s by %s (%s)", layer, d.Effect, d.Rule, d.Reason)
				}
			}
		})
	}
}

func TestHelpersInAProject(t *testing.T) {
	root := workspace(t)
	projectFile(t, root, "p.rego", head+"import data.gatehouse.plugins\n\n"+
		`decisions contains {"effect": "ask", "rule": "repo.scan", "reason": risk} if {
	not plugins.plugin_ok("scan")
	risk := plugins.plugin_annotation("scan", "risk", "nobody looked")
}`)
	s := load(t, Options{})
	r := request(root, "Read", `{"file_path":"main.go"}`)
	if d := decide(t, s, r); d.Rule != "repo.scan" || d.Reason != "nobody looked" {
		t.Errorf("without the plugin: %s by %s (%s)", d.Effect, d.Rule, d.Reason)
	}
	r.Annotations = []permission.Annotation{annotated("scan", `"low"`)}
	if d := decide(t, s, r); d.Effect != permission.Allow {
		t.Errorf("with the plugin: %s by %s (%s)", d.Effect, d.Rule, d.Reason)
	}
}

// TestLibraryTraps: the package is nobody else's, and there is nothing to ask
// where plugins are not heard.
func TestLibraryTraps(t *testing.T) {
	helper := "import data.gatehouse.plugins\n\n"
	for _, row := range []struct{ name, text, want string }{
		{"taken over", "package gatehouse.plugins\n\ndefault plugin_ok(_) := true\n", "package gatehouse.plugins: policies live in"},
		{"below it", "package gatehouse.plugins.mine\n\nx := 1\n", "package gatehouse.plugins.mine: policies live in"},
		{"misspelt helper", head + helper + sayIf("deny", "x.y", `not plugins.plugin_okay("scan")`), "plugin_okay"},
		{"member of an entry", head + sayIf("deny", "x.y", `input.plugins.scan.value == 1`), "value"},
		{"member of any entry", head + sayIf("deny", "x.y", "some name\n\tinput.plugins[name].anotations.x"), "annotations"},
		{"member through a variable", head + sayIf("deny", "x.y", "some p in input.plugins\n\tp.eror != \"\""), "error"},
		{"member of a variable", head + sayIf("deny", "x.y", "p := input.plugins.scan\n\tp.eror != \"\""), "error"},
		{"word of a verdict", head + sayIf("deny", "x.y", `input.plugins.scan.verdict == "refuse"`), "is never"},
		{"a reason that may be missing", head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": input.plugins.scan.reason} if input.tool.name == "Bash"`, "may be undefined"},
		{"calls in the server", "package gatehouse.inproc\n\n" + helper + sayIf("deny", "x.y", `not plugins.plugin_ok("scan")`), "plugins are heard about calls and requests only"},
		{"input of calls in the server", "package gatehouse.inproc\n\n" + sayIf("deny", "x.y", `input.plugins.scan.ok`), "plugins"},
		{"redaction", "package gatehouse.redaction\n\n" + helper + `plan contains {"rule": "x.y", "action": "drop", "keys": ["a"]} if plugins.plugin_ok("scan")`, "plugins are heard about calls and requests only"},
		{"log", "package gatehouse.log\n\n" + helper + `mask contains "/input/title" if plugins.plugin_ok("scan")`, "plugins are heard about calls and requests only"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, row.text)}})
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "user.rego:") {
				t.Errorf("error %v, want %q with file and line", err, row.want)
			}
		})
	}
	for name, text := range map[string]string{
		"other name":            "import data.gatehouse.plugins as p\n\n" + sayIf("deny", "x.y", `not p.plugin_ok("scan")`),
		"one helper":            "import data.gatehouse.plugins.plugin_ok\n\n" + sayIf("deny", "x.y", `not plugin_ok("scan")`),
		"result as a parameter": helper + sayIf("deny", "x.y", "plugins.plugin_annotation(\"scan\", \"a\", [1, 2], x)\n\tx == 1"),
	} {
		t.Run("project: "+name, func(t *testing.T) {
			root := workspace(t)
			projectFile(t, root, "p.rego", head+text)
			if d := decide(t, load(t, Options{}), request(root, "Read", `{"file_path":"main.go"}`)); d.Rule != projectRule {
				t.Errorf("%s by %s (%s)", d.Effect, d.Rule, d.Reason)
			}
		})
	}
}
