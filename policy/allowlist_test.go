package policy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/corpus"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/tester"
)

const allowlistFolder = "../examples/policies/allowlist"

// allowlist is the example over profile none.
func allowlist(t testing.TB) (s *Set, root string) {
	t.Helper()
	root, home, err := corpus.Workspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return load(t, Options{Profile: "none", Paths: []string{allowlistFolder}, DefaultEffect: "deny", Home: home}), root
}

// TestAllowlist judges the corpus by the strict example: what it allows is
// everyday reading or everyday work, and all else is denied.
func TestAllowlist(t *testing.T) {
	s, root := allowlist(t)
	rows, err := corpus.Rows()
	if err != nil {
		t.Fatal(err)
	}
	allowed := 0
	for _, row := range rows {
		d := decide(t, s, request(root, row.Tool, string(row.Input)))
		switch {
		case d.Effect == permission.Allow && !row.Everyday():
			t.Errorf("line %d: %s %q is allowed by %s, and its purpose is to %s", row.Line, row.Tool, what(row), d.Rule, row.Intent)
		case d.Effect == permission.Allow:
			allowed++
		case d.Effect != permission.Deny:
			t.Errorf("line %d: %s %q: got %s by %s", row.Line, row.Tool, what(row), d.Effect, d.Rule)
		}
	}
	if allowed < 30 {
		t.Errorf("%d calls are allowed, want at least 30", allowed)
	}
	for _, command := range []string{"ls -la", "cat main.go", "grep -n func main.go", "git status", "git log --oneline", "ls && cat main.go | grep x"} {
		raw, _ := json.Marshal(map[string]string{"command": command})
		if d := decide(t, s, request(root, "Bash", string(raw))); d.Effect != permission.Allow || d.Rule != "allowlist.reads" {
			t.Errorf("%s: got %s by %s (%s)", command, d.Effect, d.Rule, d.Reason)
		}
	}
	if d := decide(t, s, request(root, "Bash", `{"command":"make"}`)); d.Rule != "allowlist.rest" || d.AgentMessage == "" {
		t.Errorf("make: got %s by %s, %q for the model", d.Effect, d.Rule, d.AgentMessage)
	}
}

// TestAllowlistTests runs the example's own Rego tests.
func TestAllowlistTests(t *testing.T) {
	modules := map[string]*ast.Module{}
	for _, name := range []string{"allowlist.rego", "allowlist_test.rego"} {
		text, err := os.ReadFile(filepath.Join(allowlistFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if modules[name], err = ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{RegoVersion: ast.RegoV2}); err != nil {
			t.Fatal(err)
		}
	}
	results, err := tester.NewRunner().SetModules(modules).SetDefaultRegoVersion(ast.RegoV2).RaiseBuiltinErrors(true).SetTimeout(generous).RunTests(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range results {
		n++
		if !r.Pass() {
			t.Errorf("%s at %s: %v", r.Name, r.Location, r.Error)
		}
	}
	if n < 5 {
		t.Errorf("%d tests, want at least 5", n)
	}
}

// BenchmarkAllowlist is the whole decision of the strict example.
func BenchmarkAllowlist(b *testing.B) {
	s, root := allowlist(b)
	for name, command := range map[string]string{"one": "git status", "two": "git status && cat main.go", "denied": "id"} {
		raw, _ := json.Marshal(map[string]string{"command": command})
		r := request(root, "Bash", string(raw))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d, _ := s.Decide(context.Background(), r); d.Effect == permission.Halt {
					b.Fatal(d.Rule)
				}
			}
		})
	}
}
