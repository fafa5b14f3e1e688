package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// The figures of docs/performance.md. Ratios are of benchmarks in one run.

// teamRules is what an organisation or a user typically adds.
const teamRules = `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "team.migrations", "reason": "migrations are written by hand"} if {
	input.tool.name in {"Edit", "Write"}
	some p in input.paths
	p.mode == "write"
	contains(p.real, "/db/migrations/")
}

decisions contains {"effect": "ask", "rule": "team.terraform", "reason": "infrastructure wants a second look"} if {
	input.tool.name == "Bash"
	some c in input.bash.commands
	c.name.basename in {"terraform", "kubectl", "helm"}
}

decisions contains {"effect": "allow", "rule": "team.tests"} if {
	input.tool.name == "Bash"
	input.bash.ok
	every c in input.bash.commands {
		c.static
		c.text in {"go test ./...", "go vet ./...", "npm test"}
	}
}
`

// serverReserve stands for what a server keeps in reserve, so that the collector
// runs as often here as there (cmd/gatehouse/heap.go).
const serverReserve = 16 << 20

func benchmarkDecide(b *testing.B, s *Set, r permission.Request) {
	b.Helper()
	b.ReportAllocs()
	reserve := make([]byte, serverReserve)
	defer runtime.KeepAlive(reserve)
	for b.Loop() {
		if d, _ := s.Decide(context.Background(), r); strings.HasPrefix(d.Rule, "engine.") && d.Rule != "engine.default" {
			b.Fatal(d.Rule, d.Reason)
		}
	}
}

// BenchmarkWholeDecision is a call with everything: facts, three layers, composition.
func BenchmarkWholeDecision(b *testing.B) {
	root := workspace(b)
	s := load(b, Options{Org: []string{userPolicy(b, teamRules)}, Paths: []string{userPolicy(b, teamRules)}})
	for _, row := range []struct{ name, tool, input string }{
		{"bash-one", "Bash", `{"command":"npm test"}`},
		{"bash-git", "Bash", `{"command":"git status --short"}`},
		{"bash-file", "Bash", `{"command":"cat main.go"}`},
		{"bash-two", "Bash", `{"command":"git status --short && cat main.go"}`},
		{"read", "Read", `{"file_path":"main.go"}`},
		{"edit", "Edit", `{"file_path":"main.go","old_string":"a","new_string":"b"}`},
		{"mcp", "mcp__tickets__get", `{"id":1}`},
	} {
		b.Run(row.name, func(b *testing.B) { benchmarkDecide(b, s, request(root, row.tool, row.input)) })
	}
}

// BenchmarkManyRules adds 10,000 rules that an index tells apart.
func BenchmarkManyRules(b *testing.B) {
	root := workspace(b)
	many := userPolicy(b, teamRules)
	for file := range 10 { // a file of rules may have a mebibyte
		var text strings.Builder
		text.WriteString("package gatehouse.permission\n")
		for i := range 1000 {
			n := 1000*file + i
			fmt.Fprintf(&text, "\ndecisions contains {\"effect\": \"deny\", \"rule\": \"many.r%d\", \"reason\": \"r\"} if input.tool.name == \"mcp__server%d__tool\"\n", n, n)
		}
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("many%d.rego", file)), []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	r := request(root, "Bash", `{"command":"npm test"}`)
	for name, rules := range map[string]string{"few": userPolicy(b, teamRules), "and-10000": many} {
		s := load(b, Options{Paths: []string{rules}})
		b.Run(name, func(b *testing.B) { benchmarkDecide(b, s, r) })
	}
}

// BenchmarkParallel is to be run with -cpu 1,2.
func BenchmarkParallel(b *testing.B) {
	root := workspace(b)
	s := load(b, Options{})
	r := request(root, "Bash", `{"command":"npm test"}`)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if d, _ := s.Decide(context.Background(), r); d.Effect == permission.Halt {
				b.Error(d.Rule)
			}
		}
	})
}

// BenchmarkMemoHit is a call whose decision its rule lets hold: one that names
// no file, and one whose files are looked at again.
func BenchmarkMemoHit(b *testing.B) {
	root := workspace(b)
	s := load(b, Options{Profile: "none", Paths: []string{userPolicy(b, `package gatehouse.permission

decisions contains {"effect": "allow", "rule": "team.all", "cache": {"ttl_s": 300}} if {
	input.tool.name in {"Bash", "mcp__tickets__get"}
}`)}})
	for name, r := range map[string]permission.Request{
		"mcp":  request(root, "mcp__tickets__get", `{"id":1}`),
		"id":   request(root, "Bash", `{"command":"id"}`),
		"file": request(root, "Bash", `{"command":"cat main.go"}`),
	} {
		if decide(b, s, r); !s.recall(&r).holds {
			b.Fatal(name, "is not remembered")
		}
		b.Run(name, func(b *testing.B) { benchmarkDecide(b, s, r) })
	}
}

// BenchmarkBaselines are the same few checks as teamRules without Rego, to see
// what readable rules cost: in plain Go, and as a list of conditions that is
// walked from its beginning, as Cedar's evaluators do.
func BenchmarkBaselines(b *testing.B) {
	root := workspace(b)
	s := load(b, Options{})
	r := request(root, "Bash", `{"command":"npm test"}`)
	object, err := decodeInput(r.Input)
	if err != nil {
		b.Fatal(err)
	}
	in := s.describe(r, object)
	asks := []string{"terraform", "kubectl", "helm"}
	allows := []string{"go test ./...", "go vet ./...", "npm test"}
	plain := func(in *permissionInput) permission.Effect {
		effect := permission.Allow
		for i := range in.Bash.Commands {
			c := &in.Bash.Commands[i]
			switch {
			case slices.Contains(asks, c.Name.Basename):
				return permission.Ask
			case !c.Static || !slices.Contains(allows, c.Text):
				effect = permission.Abstain
			}
		}
		return effect
	}
	type condition func(*permissionInput) bool
	list := make([]condition, 0, 1000)
	for i := range cap(list) {
		name := fmt.Sprintf("mcp__server%d__tool", i)
		list = append(list, func(in *permissionInput) bool { return in.Tool.Name == name })
	}
	b.Run("facts", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.describe(r, object)
		}
	})
	b.Run("document", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			toTerm(in)
		}
	})
	b.Run("plain-go", func(b *testing.B) {
		for b.Loop() {
			if plain(&in) != permission.Allow {
				b.Fatal("not allowed")
			}
		}
	})
	b.Run("list-of-1000-conditions", func(b *testing.B) {
		for b.Loop() {
			for _, holds := range list {
				if holds(&in) {
					b.Fatal("matched")
				}
			}
		}
	})
}

// BenchmarkExample is the allow-list that ships as an example.
func BenchmarkExample(b *testing.B) {
	root := workspace(b)
	dir := filepath.Join("..", "examples", "policies", "allowlist")
	if _, err := os.Stat(dir); err != nil {
		b.Fatal(err)
	}
	s := load(b, Options{Profile: "none", DefaultEffect: "deny", Paths: []string{dir}})
	for name, command := range map[string]string{"one": "git status --short", "id": "cat main.go", "two": "git status --short && cat main.go"} {
		b.Run(name, func(b *testing.B) { benchmarkDecide(b, s, request(root, "Bash", `{"command":"`+command+`"}`)) })
	}
}
