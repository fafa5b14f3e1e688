package pdk

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestScaffold(t *testing.T) {
	tests := []struct{ lang, files string }{
		{"go", "README.md go.mod main.go main_test.go pdk/edits.go pdk/fake.go pdk/fake_edits.go pdk/fake_get.go pdk/fake_host.go pdk/fake_strict.go pdk/get.go pdk/host_wasip1.go pdk/json.go pdk/kv.go pdk/pdk.go pdk/strings.go pdk/tools.go pdk/unquote.go"},
		{"c", "README.md gatehouse_hook.h main.c test.sh"},
		{"as", "README.md assembly/gatehouse.ts assembly/index.ts package.json test.sh"},
	}
	for _, tt := range tests {
		files, err := Scaffold(tt.lang, "no-rm")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(tt.files + " testdata/configured.json testdata/deny.json testdata/pass.json")
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.lang, got, want)
		}
		for name, text := range files {
			for _, mark := range []string{"@NAME@", "@PLUGIN@", "@TOML@", "@BUILD@", "@ASC@"} {
				if strings.Contains(string(text), mark) {
					t.Errorf("%s: %s has a %s left", tt.lang, name, mark)
				}
			}
			if filepath.Ext(name) == ".json" && !json.Valid(text) {
				t.Errorf("%s: %s is no JSON", tt.lang, name)
			}
		}
		if readme := string(files["README.md"]); !strings.Contains(readme, "no-rm.wasm") || !strings.Contains(readme, `name = "no_rm"`) {
			t.Errorf("%s: README.md:\n%s", tt.lang, readme)
		}
	}
}

func TestScaffoldRefuses(t *testing.T) {
	for _, name := range []string{"", "A", "../x", "a/b", "1a", "-a", "a.b", "a b", strings.Repeat("a", 33)} {
		if _, err := Scaffold("go", name); err == nil {
			t.Errorf("a plugin is called %q", name)
		}
	}
	if _, err := Scaffold("rust", "x"); err == nil || !strings.Contains(err.Error(), "go, c, as") {
		t.Errorf("rust: %v", err)
	}
}

// A scaffold has a copy of all of this package but what makes scaffolds.
func TestScaffoldHasAll(t *testing.T) {
	files, err := Scaffold("go", "x")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range own {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		belongs := name != "sources.go" && name != "build_line.go" && !strings.HasSuffix(name, "_test.go")
		if got, ok := files["pdk/"+name]; ok != belongs || belongs && string(got) != string(want) {
			t.Errorf("pdk/%s: there %v, want %v and as it is here", name, ok, belongs)
		}
	}
}
