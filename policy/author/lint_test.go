package author

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// head begins a file of permission policies.
const head = "package gatehouse.permission\n\n"

// allow is a rule with a body; tested names it, so that only the body is at fault.
func allow(body string) string {
	return head + "decisions contains {\"effect\": \"allow\", \"rule\": \"a.b\"} if {\n\t" + strings.ReplaceAll(body, "\n", "\n\t") + "\n}\n"
}

func deny(body string) string {
	return head + "decisions contains {\"effect\": \"deny\", \"rule\": \"a.b\", \"reason\": \"r\", \"agent_message\": \"m\"} if {\n\t" +
		strings.ReplaceAll(body, "\n", "\n\t") + "\n}\n"
}

// helper is the head with the helpers of plugins, allow2 what comes below.
const helper = head + "import data.gatehouse.plugins\n\n"

func allow2(body string) string { return strings.TrimPrefix(allow(body), head) }

const naming = "package gatehouse.a_test\n\ntest_a if \"a.b\" != \"\"\n"

func TestLint(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"clean", allow("input.tool.name == \"Read\""), ""},
		{"package", "package gatehouse.permisson\n\nx := 1\n", "unknown-package 1"},
		{"foreign package", "package policies\n\nx := 1\n", "unknown-package 1"},
		{"library", "package gatehouse.lib.permission.x\n\nx := 1\n", ""},

		{"some command", allow("input.bash.ok\nsome c in input.bash.commands\nc.text == \"ls\""), "allow-some 5"},
		{"first command", allow("input.bash.ok\ninput.bash.commands[0].text == \"ls\""), "allow-some 5"},
		{"any command", allow("input.bash.ok\ninput.bash.commands[_].text == \"ls\""), "allow-some 5"},
		{"every command", allow("input.bash.ok\nevery c in input.bash.commands {\n\tc.text == \"ls\"\n}"), ""},
		{"counted commands", allow("input.bash.ok\ncount(input.bash.commands) > 0\nevery c in input.bash.commands {\n\tc.text == \"ls\"\n}"), ""},
		{"some command in a helper", allow("input.bash.ok\nlisting") + "\nlisting if {\n\tsome c in input.bash.commands\n\tc.text == \"ls\"\n}\n", "allow-some 9"},
		{"every command in a helper", allow("input.bash.ok\nlisting") + "\nlisting if {\n\tevery c in input.bash.commands {\n\t\tc.text == \"ls\"\n\t}\n}\n", ""},
		{"some command of a deny", deny("some c in input.bash.commands\nc.name.basename == \"curl\""), ""},
		{"not analysed", allow("every c in input.bash.commands {\n\tc.text == \"ls\"\n}"), "allow-unanalysed 3"},
		{"not ok", allow("not input.bash.ok\nevery c in input.bash.commands {\n\tc.text == \"ls\"\n}"), "allow-unanalysed 3"},
		{"compared with true", allow("input.bash.ok == true\nevery c in input.bash.commands {\n\tc.text == \"ls\"\n}"), ""},
		{"text prefix", allow("input.tool.name == \"Bash\"\nstartswith(input.tool.input.command, \"npm \")"), "allow-text 5"},
		{"text pattern", allow("input.tool.name == \"Bash\"\nregex.match(`^npm`, input.tool.input.command)"), "allow-text 5"},
		{"whole text", allow("input.tool.name == \"Bash\"\ninput.tool.input.command == \"npm test\""), ""},
		{"text prefix of a deny", deny("input.tool.name == \"Bash\"\nstartswith(input.tool.input.command, \"npm \")"), "deny-text 5"},
		{"text of a deny", deny("input.tool.name == \"Bash\"\ninput.tool.input.command == \"npm x\""), "deny-text 5"},
		{"text of a deny in a helper", deny("input.tool.name == \"Bash\"\nnpm") + "\nnpm if contains(input.tool.input.command, \"npm\")\n", "deny-text 8"},

		{"allow without a body", head + "decisions contains {\"effect\": \"allow\", \"rule\": \"a.b\"}\n", "allow-any 3"},
		{"allow of anything", allow("true"), "allow-any 3"},
		{"allow of a tool", allow("input.tool.name == \"Bash\""), "allow-any 3"},
		{"allow of some tools", allow("input.tool.name in {\"Read\", \"Bash\"}"), "allow-any 3"},
		{"allow of other tools", allow("input.tool.name in {\"Read\", \"Glob\"}"), ""},
		{"allow of listed tools", allow("input.tool.name in data.cfg.tools"), ""},
		{"allow of analysed commands", allow("input.bash.ok"), "allow-any 3"},
		{"allow of counted commands", allow("input.bash.ok\ncount(input.bash.commands) == 1"), "allow-any 3"},
		{"allow but for some", allow("input.bash.ok\nnot input.bash.commands[0].text == \"rm\""), "allow-any 3"},
		{"allow in a mode", allow("input.session.mode == \"acceptEdits\""), "allow-any 3"},
		{"allow beside a tool", allow("input.tool.name != \"Read\""), "allow-any 3"},
		{"allow of MCP tools", allow("startswith(input.tool.name, \"mcp__github__\")"), ""},
		{"allow of an MCP server", allow("input.tool.server == \"github\""), ""},
		{"allow of a host", allow("input.url.host == \"example.com\""), ""},
		{"allow of the caller's list", allow("input.allowed_by_caller.matched"), ""},
		{"allow in a helper", allow("reading") + "\nreading if input.tool.name == \"Read\"\n", ""},

		{"some path", allow("input.tool.name == \"Read\"\nsome p in input.paths\np.inside"), "allow-some 5"},
		{"first path", allow("input.tool.name == \"Read\"\ninput.paths[0].inside"), "allow-some 5"},
		{"every path", allow("input.tool.name == \"Read\"\ncount(input.paths) > 0\nevery p in input.paths {\n\tp.inside\n}"), ""},
		{"no path", allow("input.tool.name == \"Read\"\ninput.paths == []"), ""},
		{"some path of a deny", deny("some p in input.paths\np.protected"), ""},

		{"unknown tool", deny("input.tool.name == \"bash\""), "tool-unknown 4"},
		{"unknown tool of a list", deny("input.tool.name in {\"Read\", \"Fetch\"}"), "tool-unknown 4"},
		{"MCP tool", deny("input.tool.name == \"mcp__github__push\""), ""},

		{"object.get", deny("object.get(input, [\"session\", \"mode\"], \"\") == \"plan\""), "object-get-input 4"},
		{"object.get of arguments", deny("object.get(input.tool.input, \"timeout\", 0) > 5"), ""},
		{"walk", deny("some path, value\nwalk(input.bash, [path, value])\nvalue == \"x\""), "walk 5"},
		{"walk of arguments", deny("some path, value\nwalk(input.tool.input, [path, value])\nvalue == \"x\""), ""},
		{"case of tools", deny("lower(input.tool.name) == \"bash\""), "tool-case 4"},
		{"prefix of a path", deny("some p in input.paths\nstartswith(p.real, \"/srv/app\")"), "path-prefix 5"},
		{"computed prefix of a path", deny("some p in input.paths\nstartswith(p.real, input.session.cwd)"), "path-prefix 5"},
		{"prefix up to a slash", deny("some p in input.paths\nstartswith(p.real, \"/srv/app/\")"), ""},

		{"pattern first", deny("regex.match(`x`, input.title)\ninput.tool.name == \"Bash\""), "not-indexed 4"},
		{"pattern behind some", deny("some c in input.bash.commands\ncontains(c.text, \"x\")"), "not-indexed 5"},
		{"pattern last", deny("input.tool.name == \"Bash\"\nregex.match(`x`, input.title)"), ""},

		{"negated null", deny("input.tool.name == \"Bash\"\nsome c in input.bash.commands\nnot c.git.writes"), "nullable 6"},
		{"unequal null", deny("input.tool.name == \"Bash\"\nsome c in input.bash.commands\nc.git.subcommand != \"status\""), "nullable 6"},
		{"guarded by is_null", deny("input.tool.name == \"Bash\"\nsome c in input.bash.commands\nnot is_null(c.git)\nnot c.git.writes"), ""},
		{"guarded by a condition", deny("input.tool.name == \"Bash\"\nsome c in input.bash.commands\nc.git.subcommand == \"push\"\nnot c.git.writes"), ""},
		{"path of a word", deny("input.tool.name == \"Bash\"\nsome c in input.bash.commands\nsome a in c.args\nnot a.path.inside"), "nullable 7"},
		{"path of the call", deny("some p in input.paths\nnot p.inside"), ""},

		{"plugin not there", allow("input.tool.name == \"Read\"\nnot input.plugins.scan.error"), "plugin-absent 5"},
		{"plugin that did not object", allow("input.tool.name == \"Read\"\nnot input.plugins.scan.verdict == \"deny\""), "plugin-absent 5"},
		{"any plugin that did not object", allow("input.tool.name == \"Read\"\nnot input.plugins[_].verdict == \"deny\""), "plugin-absent 5"},
		{"plugin that annotated nothing", allow("input.tool.name == \"Read\"\nnot data.gatehouse.plugins.plugin_annotation(\"scan\", \"danger\", false)"), "plugin-absent 5"},
		{"helper by an import", helper + allow2("input.tool.name == \"Read\"\nnot plugins.plugin_annotation(\"scan\", \"danger\", false)"), "plugin-absent 7"},
		{"plugin that is there", helper + allow2("input.tool.name == \"Read\"\nplugins.plugin_ok(\"scan\")\nnot input.plugins.scan.annotations.danger"), ""},
		{"another plugin that is there", helper + allow2("input.tool.name == \"Read\"\nplugins.plugin_ok(\"other\")\nnot input.plugins.scan.annotations.danger"), "plugin-absent 8"},
		{"fallback beside", helper + allow2("input.tool.name == \"Read\"\nplugins.plugin_annotation(\"scan\", \"a\", 1) == 1\nnot plugins.plugin_annotation(\"scan\", \"b\", false)"), "plugin-absent 8"},
		{"plugin that has to be there", allow("input.tool.name == \"Read\"\ninput.plugins.scan.annotations.safe"), ""},
		{"refused without the plugin", helper + strings.TrimPrefix(deny("not plugins.plugin_ok(\"scan\")"), head), ""},
		{"annotation with a default", deny("object.get(input.plugins.scan.annotations, \"risk\", \"high\") == \"high\""), ""},
		{"plugins with a default", deny("object.get(input.plugins, \"scan\", {}) == {}"), "object-get-input 4"},

		{"no reason", head + "decisions contains {\"effect\": \"ask\", \"rule\": \"a.b\"} if input.door == \"answer\"\n", "no-reason 3"},
		{"no message", head + "decisions contains {\"effect\": \"deny\", \"rule\": \"a.b\", \"reason\": \"r\"} if input.door == \"answer\"\n", "no-agent-message 3"},
		{"admission without message", "package gatehouse.admission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"a.b\", \"reason\": \"r\"} if input.trusted\n", ""},
		{"computed effect", head + "decisions contains {\"effect\": e, \"rule\": \"a.b\", \"reason\": \"r\"} if {\n\te := [\"deny\"][_]\n}\n", "computed-effect 3"},
		{"computed rule", head + "decisions contains {\"effect\": \"allow\", \"rule\": r} if {\n\tinput.tool.name == \"Read\"\n\tr := concat(\".\", [\"a\", input.profile])\n}\n", "computed-rule 3"},
		{"written in the body", head + "decisions contains d if {\n\tinput.tool.name == \"Read\"\n\td := {\"effect\": \"allow\", \"rule\": \"a.b\"}\n}\n", ""},
		{"written as a rule", head + "decisions contains no if input.trusted\n\nno := {\"effect\": \"deny\", \"rule\": \"a.b\"}\n", "no-agent-message 3, no-reason 3"},
		{"taken from a set", head + "decisions contains d if some d in about\n\nabout contains {\"effect\": \"deny\", \"rule\": \"a.b\", \"agent_message\": \"m\"} if regex.match(`x`, input.title)\n", "no-reason 5"},
		{"two effects", allow("input.tool.name == \"Read\"") + "\n" + strings.TrimPrefix(deny("input.door == \"mention\""), head), "two-effects 7"},
		{"one effect twice", deny("input.door == \"answer\"") + "\n" + strings.TrimPrefix(deny("input.door == \"mention\""), head), ""},
		{"no test", strings.ReplaceAll(allow("input.tool.name == \"Read\""), "a.b", "c.d"), "no-test 3"},
		{"examples", head + "# METADATA\n# custom:\n#   match: [\"ls\"]\ndecisions contains {\"effect\": \"allow\", \"rule\": \"c.d\"} if input.tool.name == \"Read\"\n", ""},

		{"silenced above", deny("# gatehouse:ignore tool-case names come from a list\nlower(input.tool.name) == \"bash\""), ""},
		{"silenced beside", deny("lower(input.tool.name) == \"bash\" # gatehouse:ignore tool-case names come from a list"), ""},
		{"silenced without reason", deny("# gatehouse:ignore tool-case\nlower(input.tool.name) == \"bash\""), "ignore 4, tool-case 5"},
		{"silenced nothing", deny("# gatehouse:ignore walk no reason at all\ninput.door == \"answer\""), "ignore 4"},
		{"silenced by another id", deny("# gatehouse:ignore tool-cases why\nlower(input.tool.name) == \"bash\""), "ignore 4, tool-case 5"},

		{"wrong arity", deny("lower() == \"x\"\nwalk()\nobject.get()"), ""},
		{"syntax", head + "decisions contains { ==\n", "load 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := Lint(Linting{Sources: written("a.rego", test.text, "a_test.rego", naming)})
			var got []string
			for _, f := range found {
				got = append(got, f.ID+" "+itoa(f.Line))
				if f.File != "a.rego" || f.Column < 1 || f.ID != "load" && (f.Advice == "" || f.Text == "") {
					t.Errorf("finding is not complete: %+v", f)
				}
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("found %v, want %q\n%s", found, test.want, test.text)
			}
		})
	}
}

func itoa(n int) string { return Lines{From: n, To: n}.String() }

func TestLintData(t *testing.T) {
	files := []DataFile{{Name: "data.toml", Text: "# words\nused = 1\n\n[ spare ]\nx = 1\n", Keys: []string{"spare", "used"}}}
	found := Lint(Linting{Sources: written("a.rego", allow("input.tool.name == \"Read\"\ndata.cfg.used == input.session.turn"), "a_test.rego", naming), Data: files})
	if len(found) != 1 || found[0].ID != "unused-data" || found[0].Line != 4 || found[0].Text != "[ spare ]" {
		t.Errorf("found %+v, want spare in line 4 alone", found)
	}
	found = Lint(Linting{Sources: written("a.rego", allow("input.tool.name == \"Read\"\nsome word in data.cfg[input.profile]\nword == input.title"), "a_test.rego", naming), Data: files})
	if len(found) != 0 {
		t.Errorf("data read by a computed key: found %+v", found)
	}
}

// The built-in policies are the example people copy from.
func TestLintBuiltin(t *testing.T) {
	for _, profile := range []string{"dev", "readonly", "ci", "locked"} {
		sources, err := policy.BuiltinSources(profile)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Lint(Linting{Sources: sources}) {
			if f.Severity == SeverityError && f.ID != "two-effects" {
				t.Errorf("%s: %s: %s", profile, f.ID, f)
			}
		}
	}
}

func TestLintsAreDescribed(t *testing.T) {
	var ids []string
	for _, l := range Lints() {
		if l.Finds == "" || l.Severity != SeverityError && l.Severity != SeverityWarning || slices.Contains(ids, l.ID) {
			t.Errorf("lint %+v", l)
		}
		ids = append(ids, l.ID)
	}
}

func TestLintOfPlans(t *testing.T) {
	const plans = "package gatehouse.redaction\n\n"
	for _, test := range []struct{ name, text, want string }{
		{"clean", plans + "plan contains {\"action\": \"drop\", \"rule\": \"a.b\"} if input.sink.kind == \"log\"\n", ""},
		{"no test", plans + "plan contains {\"action\": \"drop\", \"rule\": \"a.c\"}\n", "no-test 3"},
		{"computed", plans + "plan contains {\"action\": lower(\"DROP\"), \"rule\": \"a.b\"}\n", "computed-effect 3"},
		{"a set of another name", plans + "decisions contains {\"action\": \"drop\", \"rule\": \"a.b\"}\n", "edit-apart 3"},
		{"a set that is handed on", plans + "own contains {\"action\": \"drop\", \"rule\": \"a.b\"}\n\nplan contains e if some e in own\n", ""},
		{"a tool by another case", plans + "plan contains {\n\"action\": \"drop\", \"rule\": \"a.b\",\n\"select\": {\"tools\": [\"Read\", \"bash\", \"mcp__*\"]}}\n", "tool-unknown 5"},
		{"a block of no type", plans + "plan contains {\n\"action\": \"drop\", \"rule\": \"a.b\",\n\"select\": {\"blocks\": [\"text\", \"tool-result\"]}}\n", "block-unknown 5"},
		{"a misspelt detector", plans + "plan contains {\"action\": \"drop\", \"rule\": \"a.b\", \"detectors\": [\"githb\", \"context\", \"customer-id\"]}\n", "detector-unknown 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, f := range Lint(Linting{Sources: []policy.Source{{Name: "p.rego", Text: test.text}, {Name: "t.rego", Text: naming}}}) {
				got = append(got, fmt.Sprintf("%s %d", f.ID, f.Line))
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
}

func TestSuiteOfPlans(t *testing.T) {
	rules := "package gatehouse.redaction\n\nplan contains {\"action\": \"drop\", \"rule\": \"a.b\"} if input.sink.kind == \"log\"\n"
	tests := "package gatehouse.redaction_test\n\nrules(sink) := {e.rule | some e in data.gatehouse.redaction.plan with input as {\"sink\": {\"kind\": sink}}}\n\n" +
		"test_log if rules(\"log\") == {\"a.b\"}\n\ntest_model if rules(\"model\") == set()\n\ntest_wrong if rules(\"model\") == {\"a.b\"}\n"
	s := Suite{Sources: []policy.Source{{Name: "p.rego", Text: rules}, {Name: "p_test.rego", Text: tests}}, Coverage: true}
	r, err := s.Test(context.Background())
	if err != nil || r.Passed != 2 || r.Failed != 1 || r.Coverage.Percent != 100 {
		t.Errorf("%d passed, %d failed, %v covered, %v", r.Passed, r.Failed, r.Coverage, err)
	}
	document := json.RawMessage(`{"sink":{"kind":"model"}}`)
	traces, err := Explain(context.Background(), policy.Suite{Layer: "user", Sources: s.Sources[:1]}, policy.EntryRedaction, document)
	if err != nil || len(traces) != 1 || traces[0].Rule != "a.b" || traces[0].Effect != "drop" || traces[0].Fired || traces[0].Failure == nil {
		t.Errorf("got %+v, %v", traces, err)
	}
}
