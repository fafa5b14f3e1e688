package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

var update = flag.Bool("update", false, "write the table of detectors in docs/redaction.md")

func TestKindsAreTold(t *testing.T) {
	kinds := redact.Kinds()
	if len(kinds) < 60 {
		t.Errorf("%d kinds, want 60 or more", len(kinds))
	}
	if got := slices.Sorted(maps.Keys(kindAbout)); !slices.Equal(got, kinds) {
		for _, kind := range kinds {
			if kindAbout[kind] == "" {
				t.Errorf("detector %q is not told in kindAbout", kind)
			}
		}
		for _, kind := range got {
			if !slices.Contains(kinds, kind) {
				t.Errorf("kindAbout tells %q, which is no detector", kind)
			}
		}
	}
}

// The table in the documentation is that of the program.
func TestKindsInDocs(t *testing.T) {
	const begin, end = "<!-- kinds: written by go test ./cmd/gatehouse -run TestKindsInDocs -update -->\n", "<!-- end of kinds -->"
	file := filepath.Join("..", "..", "docs", "redaction.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", file)
	}
	var b strings.Builder
	b.WriteString("| detector | finds |\n|---|---|\n")
	for _, kind := range redact.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", kind, kindAbout[kind])
	}
	want := before + begin + b.String() + end + after
	if want == string(raw) {
		return
	}
	if !*update {
		t.Fatalf("%s is not current; run go test ./cmd/gatehouse -run TestKindsInDocs -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}
