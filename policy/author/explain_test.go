package author

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

const explained = `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "a.first", "reason": "r"} if {
	input.tool.name == "Bash"
	input.session.mode == "plan"
}

decisions contains {"effect": "deny", "rule": "a.word", "reason": "r"} if {
	some c in input.bash.commands
	some a in c.args
	a.value == data.cfg.word
}

decisions contains {"effect": "allow", "rule": "a.helper"} if {
	input.bash.ok
	harmless
}

harmless if {
	every c in input.bash.commands {
		reads(c)
	}
}

reads(c) if c.name.basename == "ls"

reads(c) if {
	c.name.basename == "git"
	c.git.subcommand in {"status", "log"}
}

decisions contains {"effect": "ask", "rule": "a.not", "reason": "r"} if {
	input.tool.name == "Bash"
	not input.bash.ok
}

decisions contains {"effect": "ask", "rule": "a.fires", "reason": "r"} if input.tool.name == "Bash"
`

// explainedCall is git push, without facts that no rule here reads.
const explainedCall = `{"tool": {"name": "Bash"}, "bash": {"ok": true, "commands": [
	{"name": {"basename": "ls"}, "args": []},
	{"name": {"basename": "git"}, "args": [{"value": "push"}], "git": {"subcommand": "push"}}
]}}`

func TestExplain(t *testing.T) {
	layer := policy.Suite{Layer: "user", Sources: written("a.rego", explained), Data: map[string]any{"word": "--force"}}
	all, err := Explain(context.Background(), layer, policy.EntryPermission, json.RawMessage(explainedCall))
	if err != nil {
		t.Fatal(err)
	}
	byRule := map[string]RuleTrace{}
	for _, r := range all {
		byRule[r.Rule] = r
	}
	if !byRule["a.fires"].Fired || byRule["a.fires"].Failure != nil {
		t.Errorf("a.fires: %+v", byRule["a.fires"])
	}
	for _, test := range []struct {
		rule   string
		path   []string // expressions from the rule down to the cause
		values []Value  // of the last one
	}{
		{"a.first", []string{`input.session.mode == "plan"`}, []Value{{"input.session.mode", `""`}}},
		{"a.word", []string{`a.value == data.cfg.word`}, []Value{{"a.value", `"push"`}, {"data.cfg.word", `"--force"`}}},
		{"a.helper", []string{"harmless", "every c in input.bash.commands {", "reads(c)", `c.git.subcommand in {"status", "log"}`}, []Value{{"c.git.subcommand", `"push"`}}},
		{"a.not", []string{"not input.bash.ok"}, []Value{{"input.bash.ok", "true"}}},
	} {
		r := byRule[test.rule]
		if r.Fired || r.File != "a.rego" || r.Line == 0 {
			t.Errorf("%s: %+v", test.rule, r)
		}
		f := r.Failure
		for i, want := range test.path {
			if f == nil || f.Expression != want || f.File != "a.rego" || f.Line == 0 || f.Column == 0 {
				t.Errorf("%s, step %d: %+v, want %s", test.rule, i, f, want)
				break
			}
			if i == len(test.path)-1 && !equalValues(f.Values, test.values) {
				t.Errorf("%s read %v, want %v", test.rule, f.Values, test.values)
			}
			f = f.Because
		}
	}
}

func equalValues(a, b []Value) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestExplainBrokenSource(t *testing.T) {
	layer := policy.Suite{Sources: written("a.rego", "package gatehouse.permission\n\nx := input.tol\n")}
	_, err := Explain(context.Background(), layer, policy.EntryPermission, json.RawMessage(`{}`))
	if load, ok := err.(*LoadError); !ok || load.Findings[0].Line != 3 || load.Findings[0].Text != "x := input.tol" {
		t.Errorf("got %v, want a load error of line 3 with its text", err)
	}
}

func TestCosts(t *testing.T) {
	layer := policy.Suite{Layer: "user", Sources: written("a.rego", explained), Data: map[string]any{"word": "x"}}
	whole, err := policy.Complete(policy.EntryPermission, json.RawMessage(explainedCall))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Costs(context.Background(), layer, policy.EntryPermission, whole, 3, 5)
	if err != nil || len(all) == 0 || len(all) > 5 {
		t.Fatalf("%d costs: %v", len(all), err)
	}
	for i, c := range all {
		if c.Layer != "user" || c.File != "a.rego" || c.Text == "" || i > 0 && c.Nanos > all[i-1].Nanos {
			t.Errorf("cost %d: %+v", i, c)
		}
	}
}

func TestLocate(t *testing.T) {
	layer := policy.Suite{Sources: written("a.rego", explained)}
	if file, line := Locate(layer, "a.helper", "allow"); file != "a.rego" || line != 14 {
		t.Errorf("a.helper is at %s:%d, want a.rego:14", file, line)
	}
	if _, line := Locate(layer, "a.helper", "deny"); line != 0 {
		t.Errorf("a.helper with another effect is at line %d", line)
	}
}
