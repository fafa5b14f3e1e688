package facts

import (
	"os"
	"path/filepath"
	"testing"
)

// Folders are told apart, also behind links and among what a pattern meets, and
// a pattern names the first secret it was seen to meet.
func TestFolders(t *testing.T) {
	root := checkout(t)
	r := resolver(root)
	for raw, want := range map[string]bool{"src": true, ".": true, "src/a.go": false, "missing": false, "src/..": true} {
		if got := r.Resolve(raw, Read).IsDir; got != want {
			t.Errorf("%s: is_dir %v, want %v", raw, got, want)
		}
	}
	for pattern, want := range map[string]bool{"*": true, "src/*.go": false, "missing*": false} {
		if got := r.Pattern(pattern, Read).IsDir; got != want {
			t.Errorf("%s: is_dir %v, want %v", pattern, got, want)
		}
	}
}

func TestPatternsNameTheSecret(t *testing.T) {
	root := checkout(t)
	secret := filepath.Join(root, "src", "server.pem")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{"src/*": secret, "src/*.go": ""} {
		if got := resolver(root).Pattern(pattern, Read).Glob.Protected; got != want {
			t.Errorf("%s: protected %q, want %q", pattern, got, want)
		}
	}
}
