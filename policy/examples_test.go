package policy

import (
	"context"
	"strings"
	"testing"
)

func TestExamples(t *testing.T) {
	annotated := func(custom string) string {
		return "package gatehouse.permission\n\n# METADATA\n# title: tests run\n# custom:\n" + custom + `decisions contains {"effect": "allow", "rule": "team.tests"} if {
	input.bash.ok
	every c in input.bash.commands { c.text in {"go test ./...", "go vet ./..."} }
}

decisions contains {"effect": "deny", "rule": "team.outside", "reason": "outside"} if {
	some p in input.paths
	not p.inside
}
`
	}
	for _, row := range []struct{ name, custom, want string }{
		{"hold", "#   match:\n#     - go test ./...\n#     - go vet ./... && go test ./...\n#   not_match:\n#     - go test ./... && rm x\n#     - {tool: Read, input: {file_path: main.go}}\n", ""},
		{"does not match", "#   match:\n#     - go test ./...\n#     - go tset ./...\n", `rule team.tests does not match "go tset ./..."; decided was nothing`},
		{"matches", "#   not_match:\n#     - go test ./...\n", `rule team.tests matches "go test ./..."; decided was allow:team.tests`},
		{"another rule says", "#   match:\n#     - {tool: Read, input: {file_path: /etc/passwd}}\n", "decided was deny:team.outside"},
		{"misspelt key", "#   not_matches:\n#     - ls\n", "custom.not_matches: unknown, the nearest is not_match"},
		{"no list", "#   match: ls\n", "want a list"},
		{"no call", "#   match:\n#     - {tool: Read}\n", "want a shell command or"},
		{"unknown field", "#   match:\n#     - {tool: Read, inputs: {}}\n", `example field "inputs"`},
		{"too many", "#   match:\n" + strings.Repeat("#     - go test ./...\n", maxExamples+1), "at most 50"},
		{"other members of custom", "#   owner: team\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := userPolicy(t, annotated(row.custom))
			_, err := Load(context.Background(), Options{Paths: []string{dir}})
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "user.rego:3:")):
				t.Errorf("got %v, want an error with %s at line 3", err, row.want)
			}
		})
	}
}

func TestExamplesBelongToCalls(t *testing.T) {
	for name, text := range map[string]string{
		"admission": "package gatehouse.admission\n\n# METADATA\n# custom:\n#   match: [ls]\ndecisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": \"r\"}",
		"a helper":  head + "# METADATA\n# custom:\n#   match: [ls]\nhelper := 1\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": \"r\"} if helper == 1",
	} {
		if _, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, text)}}); err == nil || !strings.Contains(err.Error(), "examples belong to") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
