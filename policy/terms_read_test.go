package policy

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/corpus"
	"github.com/open-policy-agent/opa/v1/ast"
)

// TestDocumentsWithoutTheUnread judges the corpus with documents that hold what
// rules read and with whole ones, with the bare tool allowed and without.
func TestDocumentsWithoutTheUnread(t *testing.T) {
	root, home, err := corpus.Workspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := corpus.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range profiles {
		s := load(t, Options{Profile: profile, Home: home, Org: []string{userPolicy(t, teamRules)}})
		for i, row := range rows {
			if profile != "dev" && i%5 != 0 {
				continue
			}
			r := request(root, row.Tool, string(row.Input))
			if r.Session.AllowedTools = row.Allowed; i%2 == 0 {
				r.Session.AllowedTools = []string{row.Tool}
			}
			sameDecision(t, s, r)
		}
	}
}

// sameDecision compares everything of a decision but its id.
func sameDecision(t *testing.T, s *Set, r permission.Request) permission.Decision {
	t.Helper()
	var both [2]permission.Decision
	for i, whole := range []bool{false, true} {
		s.wholeDocuments = whole
		both[i] = s.decide(context.Background(), r, nil, nil)
		both[i].DecisionID = ""
	}
	if !reflect.DeepEqual(both[0], both[1]) {
		t.Errorf("%s %s: got %+v, want %+v", r.Tool, r.Input, both[0], both[1])
	}
	return both[0]
}

// TestUnreadIsNeverSeen are rules that look at the document in unusual ways. Each
// says what it saw, which must be the same as of a whole document.
func TestUnreadIsNeverSeen(t *testing.T) {
	root := workspace(t)
	r := request(root, "Bash", `{"command":"cat main.go"}`)
	r.Title, r.Blocked, r.ToolUseID, r.Session.Denies = "a title", "/x", "toolu_1", 3
	for name, rule := range map[string]string{
		"variable key":    `some k in ["title", "door"]; saw := input[k]`,
		"all keys":        `saw := concat(" ", [k | some k, _ in input; k != "now_ns"])`,
		"whole":           `saw := json.marshal(json.remove(input, ["now_ns", "decision_id"]))`,
		"handed over":     `saw := title_of(input)`,
		"object.get":      `saw := object.get(input, "title", "nothing")`,
		"union":           `saw := json.marshal(object.union({"a": 1}, object.remove(input, ["now_ns", "decision_id"])))`,
		"walk":            `walk(input, [["blocked_path"], v]); saw := v`,
		"inner field":     `saw := input.tool.use_id`,
		"inner variable":  `some k in ["use_id"]; saw := input.tool[k]`,
		"inner whole":     `t := input.tool; saw := t.use_id`,
		"inner handed":    `saw := use_of(input.tool)`,
		"inner get":       `saw := object.get(input, ["tool", "use_id"], "nothing")`,
		"inner count":     `saw := sprintf("%d", [count(input.tool)])`,
		"inner pattern":   `{"denies": n} = json.filter(input.history, ["denies"]); saw := sprintf("%d", [n])`,
		"comprehension":   `saw := concat("", [x | x := input.title])`,
		"else":            `saw := by_else`,
		"with":            `saw := aside with input.title as "other"`,
		"with whole":      `saw := aside with input as {"title": "third"}`,
		"with kept":       `saw := kept with input.door as "answer"`,
		"default":         `saw := given`,
		"existence":       `input.agent; saw := "there"`,
		"absent":          `input.agent.type == ""; saw := "no type"`,
		"computed":        `saw := input[concat("", ["tit", "le"])]`,
		"deep":            `saw := sprintf("%v", [input.bash.commands[0].args[0].path.exists])`,
		"session":         `saw := sprintf("%v %v", [input.session.turn, input.server])`,
		"every":           `every k, v in input.history { k != v }; saw := "all"`,
		"nested in array": `[_, saw] = [1, input.title]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := load(t, Options{Profile: "none", Paths: []string{userPolicy(t, `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "test.saw", "reason": substring(sprintf("%v", [saw]), 0, 400)} if {
	`+strings.ReplaceAll(rule, "; ", "\n\t")+`
}

title_of(x) := x.title

use_of(x) := x.use_id

by_else := "x" if {
	input.door == "elicitation"
} else := input.title

aside := input.title

kept := concat(" ", [input.door, input.blocked_path])

default given := "nothing"

given := input.title if input.history.denies == 3
`)}})
			if d := sameDecision(t, s, r); d.Rule != "test.saw" || d.Reason == "nothing" {
				t.Errorf("got %s (%s)", d.Rule, d.Reason)
			}
		})
	}
}

// TestTracesAreWhole: what is told of a decision tells the whole document.
func TestTracesAreWhole(t *testing.T) {
	s, root := load(t, Options{}), workspace(t)
	r := request(root, "Bash", `{"command":"id"}`)
	r.Title = "a title"
	told := &trace{}
	s.decide(context.Background(), r, nil, told)
	if v, err := told.input.Find(ast.MustParseRef("input.title")[1:]); err != nil || v.Compare(ast.String("a title")) != 0 {
		t.Errorf("title is %v (%v)", v, err)
	}
	if read := s.permissionTerm(s.describe(r, nil), nil, nil); read.(ast.Object).Get(ast.StringTerm("title")) != nil {
		t.Error("the title is built, though no rule reads it")
	}
}
