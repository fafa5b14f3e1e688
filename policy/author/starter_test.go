package author

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// What init writes has to be exemplary: it passes its tests, covers every line,
// and neither the formatter nor the linter has anything to say.
func TestStarter(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "policies")
	paths, err := Starter(folder)
	if err != nil || len(paths) != 5 {
		t.Fatalf("starter wrote %v: %v", paths, err)
	}
	sources, err := policy.ReadSources([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Suite{Sources: sources, Documents: documents(t), Coverage: true}.Test(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK || r.Passed < 5 || r.Coverage.Percent != 100 {
		t.Errorf("tests: %+v, coverage %+v", r, r.Coverage)
	}
	data := filepath.Join(folder, "data.toml")
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Lint(Linting{Sources: sources, Data: []DataFile{{Name: data, Text: string(text), Keys: []string{"checks", "max_sessions", "redaction"}}}}) {
		t.Errorf("lint: %s: %s", f.ID, f)
	}
	for _, s := range sources {
		if out, err := Format(s); err != nil || out != s.Text {
			t.Errorf("%s is not formatted: %v\n%s", s.Name, err, Diff(s.Name, s.Text, out))
		}
	}
	if _, err := Starter(folder); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second starter: %v, want fs.ErrExist", err)
	}
}
