package author

import (
	"errors"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

func TestFormat(t *testing.T) {
	s := policy.Source{Name: "a.rego", Text: "package gatehouse.permission\n# why\nx  :=  {\"a\":1}   # here\n"}
	out, err := Format(s)
	want := "package gatehouse.permission\n\n# why\nx := {\"a\": 1} # here\n"
	if err != nil || out != want {
		t.Errorf("formatted %q (%v), want %q", out, err, want)
	}
	again, err := Format(policy.Source{Name: s.Name, Text: out})
	if err != nil || again != out {
		t.Errorf("formatted twice %q (%v)", again, err)
	}
	_, err = Format(policy.Source{Name: "b.rego", Text: "package gatehouse.permission\n\nx := {\n"})
	var load *LoadError
	if !errors.As(err, &load) || load.Findings[0].File != "b.rego" || load.Findings[0].Line != 3 && load.Findings[0].Line != 4 {
		t.Errorf("broken source: %v", err)
	}
}

func TestDiff(t *testing.T) {
	before, after := "a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nC\nd\ne\nf\ng\n"
	want := "--- x\n+++ x (formatted)\n@@ line 1 @@\n a\n b\n-c\n+C\n d\n e\n f\n g\n-h\n"
	if got := Diff("x", before, after); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Diff("x", before, before); got != "" {
		t.Errorf("equal texts differ: %s", got)
	}
}
