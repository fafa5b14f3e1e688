package policy

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/tester"
)

// minCoverage is the share of the built-in rules' lines that Rego tests must reach, in percent.
const minCoverage = 95

// TestRego runs every *_test.rego beside the built-in policies.
func TestRego(t *testing.T) {
	modules := builtinModules(t)
	coverage := cover.New()
	runner := tester.NewRunner().SetCoverageQueryTracer(coverage).SetModules(modules).
		SetDefaultRegoVersion(ast.RegoV2).RaiseBuiltinErrors(true).SetTimeout(generous)
	results, err := runner.RunTests(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range results {
		n++
		if !r.Pass() {
			t.Errorf("%s.%s at %s: %v", r.Package, r.Name, r.Location, r.Error)
		}
	}
	report := coverage.Report(modules)
	if n < 20 || report.Coverage < minCoverage {
		t.Errorf("%d tests cover %.1f %%, want at least %d %%", n, report.Coverage, minCoverage)
	}
	for name, file := range report.Files {
		if len(file.NotCovered) > 0 {
			t.Logf("%s: not covered: %v", name, file.NotCovered)
		}
	}
	t.Logf("%d tests, coverage %.1f %%", n, report.Coverage)
}

func builtinModules(t *testing.T) map[string]*ast.Module {
	t.Helper()
	entries, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]*ast.Module{}
	for _, e := range entries {
		text, err := builtinFiles.ReadFile("builtin/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		m, err := ast.ParseModuleWithOpts(e.Name(), string(text), ast.ParserOptions{RegoVersion: ast.RegoV2})
		if err != nil {
			t.Fatal(err)
		}
		modules[e.Name()] = m
	}
	return modules
}
