package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// TestCurrentFolderIsTheRoot: without roots sessions live where the program runs.
func TestCurrentFolderIsTheRoot(t *testing.T) {
	for _, row := range []struct{ name, home, at, refused string }{
		{"a project", "home", "home/project", ""},
		{"home", "home", "home", "the home folder"},
		{"above home", "up/home", "up", "above the home folder"},
	} {
		t.Run(row.name, func(t *testing.T) {
			top := t.TempDir()
			for _, dir := range []string{row.home, row.at} {
				if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"HOME", "USERPROFILE"} {
				t.Setenv(name, filepath.Join(top, row.home))
			}
			t.Chdir(filepath.Join(top, row.at))
			e, err := engine.New(engine.Options{})
			if err == nil {
				defer e.Close(context.Background())
			}
			if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
				t.Errorf("got %v, want an error with %q", err, row.refused)
			}
		})
	}
	t.Run("the whole machine", func(t *testing.T) {
		t.Chdir("/")
		if _, err := engine.New(engine.Options{}); err == nil || !strings.Contains(err.Error(), "root of a file system") {
			t.Errorf("got %v", err)
		}
	})
}
