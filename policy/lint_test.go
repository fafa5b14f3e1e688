package policy

import (
	"context"
	"strings"
	"testing"
)

// TestLint holds mistakes that the compiler's type checker lets pass, and what
// looks like one and is none (no want).
func TestLint(t *testing.T) {
	deny := `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r"} if `
	data := map[string]any{"hosts": []any{map[string]any{"fqdn": "h"}}, "limits": map[string]any{"longer": "x"}}
	for _, row := range []struct{ name, text, want string }{
		{"field of a parameter", deny + "odd(input.paths[0])\n\nodd(p) if not p.insid", `the nearest is "inside"`},
		{"field of a part of a parameter", deny + "some c in input.bash.commands\n\todd(c)\n\nodd(c) if c.nam.value == \"ls\"", `"name"`},
		{"field of what a parameter holds", deny + "odd(input.bash)\n\nodd(b) if {\n\tsome c in b.commands\n\tc.statc\n}", `"static"`},
		{"field of what is assigned from a parameter", deny + "odd(input.bash)\n\nodd(b) if {\n\tc := b.commands[0]\n\tnot c.statc\n}", `"static"`},
		{"field in a comprehension", deny + "odd(input.bash)\n\nodd(b) if count([x | some c in b.commands; x := c.dept]) > 0", `"depth"`},
		{"field behind else", deny + "odd(input.bash) == 2\n\nodd(b) := 1 if b.ok\n\nelse := 2 if not b.reasn", `"reason"`},
		{"field of a library's parameter", "package gatehouse.lib.x\n\nodd(p) if not p.insid", `"inside"`},
		{"field a document has", deny + "odd(input.paths[0])\n\nodd(p) if not p.inside", ""},
		{"argument of a tool", deny + "odd(input.tool.input)\n\nodd(i) if i.file_path == \"x\"", ""},
		{"field of an object one makes", deny + "odd({\"mine\": 1})\n\nodd(o) if o.mine == 1", ""},
		{"field of the data", deny + "some h in data.cfg.hosts\n\todd(h)\n\nodd(h) if h.fqdn == \"h\"", ""},
		{"read with object.get", deny + "odd(input.tool.input)\n\nodd(i) if object.get(i, \"whatever\", 0) == 1", ""},

		{"object.get on input", deny + `object.get(input, "tol", {}) == {}`, `"tool"`},
		{"object.get below input", deny + `object.get(input.tool, "nam", "") == ""`, `"name"`},
		{"object.get with a path", deny + `object.get(input, ["tool", "nam"], "") == ""`, `"name"`},
		{"object.get on a variable", deny + "t := input.tool\n\tobject.get(t, \"nam\", \"\") == \"\"", `"name"`},
		{"json.filter on input", deny + `json.filter(input, ["tool/nam"]) == {}`, `"name"`},
		{"json.remove on input", deny + `count(json.remove(input, ["/tol"])) == 3`, `"tool"`},
		{"object.filter on input", deny + `object.filter(input.session, ["mod"]) == {}`, `"mode"`},
		{"object.get on a tool's own input", deny + `object.get(input.tool.input, "anything", "") == ""`, ""},
		{"object.get with a path into it", deny + `object.get(input, ["tool", "input", "anything"], "") == ""`, ""},

		{"word of an enumeration", deny + `input.session.mode == "plann"`, `"plan"`},
		{"word on the left", deny + `"plann" == input.session.mode`, `"plan"`},
		{"word that is never so", deny + `input.session.mode != "plann"`, `"plan"`},
		{"word of a set", deny + `not input.door in {"pre_tool_use", "can_use_tol"}`, `"can_use_tool"`},
		{"word of a list's element", deny + "some c in input.history.last\n\tc.effect == \"alow\"", `"allow"`},
		{"word of an element by every", deny + "every c in input.history.last { c.effect != \"alow\" }", `"allow"`},
		{"word of an element by index", deny + `input.history.last[_].effect == "alow"`, `"allow"`},
		{"word through a variable", deny + "d := input.door\n\td == \"hook\"", "is never"},
		{"word of a parameter's field", deny + "odd(input)\n\nodd(i) if i.door == \"hook\"", "is never"},
		{"word of a set under a name", "kinds := {\"buildin\"}\n\n" + deny + `input.tool.kind in kinds`, `"builtin"`},
		{"word under a name", "kind := \"buildin\"\n\n" + deny + `input.tool.kind == kind`, `"builtin"`},
		{"word of a variable", deny + "k := \"buildin\"\n\tinput.tool.kind == k", `"builtin"`},
		{"words under a name that are in the enumeration", "kinds := {\"builtin\"}\n\n" + deny + `input.tool.kind in kinds`, ""},
		{"a variable with two meanings", deny + "some k in [\"buildin\"]\n\tinput.tool.kind == k", ""},
		{"field under a name", "k := \"tol\"\n\n" + deny + `input[k].name == "Bash"`, `"tool"`},
		{"field of a variable", deny + "k := \"nam\"\n\tinput.tool[k] == \"Bash\"", `"name"`},
		{"field under a name that is there", "k := \"tool\"\n\n" + deny + `input[k].name == "Bash"`, ""},
		{"union with input", deny + "o := object.union(input, {})\n\to.tol.name == \"Bash\"", "object.union"},
		{"union of many", deny + "o := object.union_n([input.session, {}])\n\to.mod == \"plan\"", "object.union_n"},
		{"patched input", deny + "o := json.patch(input, [])\n\to.tol.name == \"Bash\"", "json.patch"},
		{"union of a tool's own input", deny + "o := object.union(input.tool.input, {})\n\to.x == 1", ""},
		{"walk to a field", deny + "walk(input, [[\"tol\", \"name\"], v])\n\tv == \"Bash\"", `"tool"`},
		{"walk over all", deny + "walk(input, [_, v])\n\tv == \"Bash\"", ""},
		{"data that is not there", deny + "input.title in data.cfg.host", `"hosts"`},
		{"data below that is not there", deny + "input.title == data.cfg.limits.longe", `"longer"`},
		{"data of an element", deny + "some h in data.cfg.hosts\n\th.whatever == \"h\"", ""},
		{"data that may be left out", deny + `object.get(data.cfg, "host", "") == "h"`, ""},
		{"misspelt root of the data", deny + `data.cgf.hosts`, "data.cfg"},
		{"a library's rule that is not there", deny + `data.gatehouse.lib.permission.nothing`, "no such rule"},
		{"words that are in the enumeration", deny + `input.session.mode in {"plan", "default"}`, ""},
		{"a field that holds anything", deny + `input.tool.name == "Bush"`, ""},
		{"a name with two meanings", deny + "some x in input.history.last\n\tx.effect == \"deny\"\n\tcount([y | some x in input.session.roots; y := x; x == \"alow\"]) == 0", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := row.text
			if !strings.HasPrefix(text, "package") {
				text = head + text
				if i := strings.Index(text, " if "); strings.Contains(text[i:], "\n\t") && !strings.Contains(text[i:i+6], "{") {
					body, rest, _ := strings.Cut(text[i+4:], "\n\n")
					text = text[:i] + " if {\n\t" + body + "\n}\n\n" + rest
				}
			}
			_, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, text)}, Data: data})
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "user.rego:")):
				t.Errorf("got %v, want an error with %s", err, row.want)
			}
		})
	}
}

// TestDataElsewhere: modules can be checked where their data is not at hand.
func TestDataElsewhere(t *testing.T) {
	text := head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": data.cfg.why} if input.title in data.cfg.titles`
	for _, elsewhere := range []bool{true, false} {
		_, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, text)}, DataElsewhere: elsewhere})
		if (err == nil) != elsewhere {
			t.Errorf("elsewhere %v: %v", elsewhere, err)
		}
	}
}

// TestErrorsShowTheLine holds the form of errors: file, line, column, and the
// line itself under them.
func TestErrorsShowTheLine(t *testing.T) {
	dir := userPolicy(t, head+"decisions contains {\"effect\": \"allow\", \"rule\": \"x.y\"} if {\n\tinput.tol.name == \"Bash\"\n}")
	_, err := Load(context.Background(), Options{Paths: []string{dir}})
	want := dir + "/user.rego:4:2: undefined ref: input.tol.name (have: \"tol\", want (one of):"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "\n\tinput.tol.name == \"Bash\"") {
		t.Errorf("got %v\nwant %s… and the line", err, want)
	}
}

// TestBuiltinIsClean holds the built-in policies of every profile to the same
// checks and their examples to what they say.
func TestBuiltinIsClean(t *testing.T) {
	for _, profile := range profiles {
		s := load(t, Options{Profile: profile})
		sources, err := builtinSources(profile)
		if err != nil {
			t.Fatal(err)
		}
		l, err := compile(context.Background(), "builtin", sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.checkExamples(context.Background(), l); err != nil {
			t.Errorf("profile %s: %v", profile, err)
		}
	}
}
