package policy

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

var update = flag.Bool("update", false, "write the files of compiled rules")

// compiledFile compiles a profile from its text with every check.
func compiledFile(t *testing.T, profile string) ([]source, *ast.Compiler, []byte) {
	t.Helper()
	sources, err := builtinSources(profile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compiler(sources)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := encode(origin(textDigest(sources)), c)
	if err != nil {
		t.Fatal(err)
	}
	return sources, c, raw
}

// TestPrecompiledIsCurrent holds what a start reads against what the text of
// each profile compiles to.
func TestPrecompiledIsCurrent(t *testing.T) {
	for _, profile := range profiles {
		_, _, want := compiledFile(t, profile)
		name := "precompiled/" + profile + ".bin"
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not belong to the policies as they are now; run go generate ./policy (%v)", name, err)
		}
	}
}

// TestPrecompiledIsTheSame compares what is read with what was compiled, rule by rule.
func TestPrecompiledIsTheSame(t *testing.T) {
	for _, profile := range profiles {
		sources, want, raw := compiledFile(t, profile)
		r := &ruleReader{data: string(raw)}
		if got := r.text(); got != origin(textDigest(sources)) {
			t.Fatalf("%s: made from %q", profile, got)
		}
		got, err := restore(r)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for name, m := range want.Modules {
			if len(m.Rules) == 0 {
				continue
			}
			n++
			for i, rule := range m.Rules {
				sameRule(t, rule, got.Modules[name].Rules[i])
			}
		}
		if n != len(got.Modules) || n < 5 {
			t.Errorf("%s: %d modules, want %d", profile, len(got.Modules), n)
		}
	}
}

func sameRule(t *testing.T, want, got *ast.Rule) {
	t.Helper()
	if !want.Equal(got) || !want.Ref().Equal(got.Ref()) || got.Location.File != want.Location.File || got.Location.Row != want.Location.Row {
		t.Errorf("%s: got %s at %s, want %s", want.Location, got, got.Location, want)
	}
}

// TestPrecompiledOfAnotherText is compiled from the text instead.
func TestPrecompiledOfAnotherText(t *testing.T) {
	sources, err := builtinSources("dev")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, source{"builtin/more.rego", "package gatehouse.permission\n\nmore := 1\n"})
	c, ahead, err := compiledBuiltin("dev", sources, textDigest(sources))
	if err != nil || ahead {
		t.Fatalf("ahead %t, err %v", ahead, err)
	}
	if len(c.GetRulesExact(ast.MustParseRef("data.gatehouse.permission.more"))) != 1 {
		t.Error("the added rule is not in force")
	}
	sources[len(sources)-1].text = "package gatehouse.permission\n\nmore := input.tol\n"
	if _, _, err = compiledBuiltin("dev", sources, textDigest(sources)); err == nil {
		t.Error("a text that breaks the schema is taken")
	}
}

// TestPrecompiledDamaged never breaks down and never gives half of the rules.
func TestPrecompiledDamaged(t *testing.T) {
	sources, _, raw := compiledFile(t, "locked")
	start := len(origin(textDigest(sources))) + 1
	for n := start; n < len(raw); n += 7 {
		r := &ruleReader{data: string(raw[start:n])}
		if _, err := restore(r); err == nil {
			t.Fatalf("cut after %d bytes of %d, it is taken", n, len(raw))
		}
	}
	if _, err := restore(&ruleReader{data: string(raw[start:]) + "x"}); err == nil {
		t.Error("with a byte more, it is taken")
	}
}
