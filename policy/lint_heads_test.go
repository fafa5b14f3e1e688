package policy

import (
	"context"
	"strings"
	"testing"
)

// TestHeadsAreDefined holds decisions that would silently not be made because
// something in them is undefined, and such that are made (no want).
func TestHeadsAreDefined(t *testing.T) {
	reason := func(text string) string {
		return `decisions contains {"effect": "deny", "rule": "x.y", "reason": ` + text + `} if input.tool.name == "Bash"`
	}
	const undefined = "may be undefined"
	for _, row := range []struct{ name, text, want string }{
		{"argument of a tool", reason(`input.tool.input.description`), undefined},
		{"within a call", reason(`sprintf("no %s", [input.tool.input.description])`), undefined},
		{"in labels", `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r", "labels": {"d": input.tool.input.description}}`, undefined},
		{"in a decision of the body", `decisions contains d if d := {"effect": "deny", "rule": "x.y", "reason": input.tool.input.description}`, undefined},
		{"of a halt", `decisions contains {"effect": "halt", "rule": "x.y", "reason": input.tool.input.description}`, undefined},
		{"of an ask", `decisions contains {"effect": "ask", "rule": "x.y", "reason": input.tool.input.description}`, undefined},
		{"of a change", `decisions contains {"effect": "modify", "rule": "x.y", "reason": "r", "ops": [{"op": "set", "path": "/x", "value": input.tool.input.y}]}`, undefined},
		{"of an effect that is computed", `decisions contains {"effect": lower("DENY"), "rule": "x.y", "reason": input.tool.input.description}`, undefined},
		{"suggestion", reason(`input.suggestions[0].type`), undefined},
		{"first of a list", reason(`input.paths[0].abs`), undefined},
		{"behind what may be null", "decisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": c.name.path.abs} if some c in input.bash.commands", undefined},
		{"member of an open element", "decisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": s.type} if some s in input.suggestions", undefined},
		{"data that is not there", reason(`data.cfg.nothing`), "nothing"},
		{"a rule with a condition", "why := \"w\" if input.title == \"z\"\n\n" + reason(`why`), undefined},
		{"a function with a condition", "why(x) := x if x == \"z\"\n\n" + reason(`why("a")`), undefined},
		{"a function that reads a field", "why(x) := x.description\n\n" + reason(`why(input.tool.input)`), undefined},
		{"a rule that rests on another", "why := sprintf(\"%s\", [what])\n\nwhat := input.title if input.title == \"z\"\n\n" + reason(`why`), undefined},
		{"a name of a table that is not there", "texts := {\"a\": \"b\"}\n\n" + reason(`texts.c`), undefined},
		{"asked for behind not", `decisions contains {"effect": "deny", "rule": "x.y", "reason": input.tool.input.description} if not input.tool.input.description == "x"`, undefined},
		{"asked for in an alternative", `decisions contains {"effect": "deny", "rule": "x.y", "reason": input.tool.input.description} if input.title == "x" or input.tool.input.description == "x"`, undefined},

		{"an allow", `decisions contains {"effect": "allow", "rule": "x.y", "reason": input.tool.input.description}`, ""},
		{"object.get", reason(`object.get(input.tool.input, "description", "")`), ""},
		{"bound in the body", "decisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": why} if why := input.tool.input.description", ""},
		{"asked for in the body", `decisions contains {"effect": "deny", "rule": "x.y", "reason": input.tool.input.description} if startswith(input.tool.input.description, "x")`, ""},
		{"a field of every document", reason(`sprintf("%s in %s", [input.tool.name, input.session.mode])`), ""},
		{"a field of an element", "decisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": p.abs} if some p in input.paths", ""},
		{"data that is there", reason(`data.cfg.who`), ""},
		{"a constant", "why := \"w\"\n\n" + reason(`why`), ""},
		{"a table", "texts := {\"a\": \"b\"}\n\n" + reason(`texts.a`), ""},
		{"a default", "default why := \"w\"\n\nwhy := \"v\" if input.title == \"z\"\n\n" + reason(`why`), ""},
		{"a function with a default", "default why(_) := \"w\"\n\nwhy(x) := x if x == \"z\"\n\n" + reason(`why("a")`), ""},
		{"a function without a condition", "why(x) := sprintf(\"%s\", [x])\n\n" + reason(`why(input.title)`), ""},
		{"a partial set", "words contains \"a\" if input.title == \"z\"\n\n" + reason(`concat(", ", words)`), ""},
		{"a comprehension", reason(`concat(", ", [w | some w in input.tool.input.words])`), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, head+row.text)}, Data: map[string]any{"who": "us"}})
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "user.rego:")):
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
}
