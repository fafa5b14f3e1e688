//go:build unix

package door

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModes(t *testing.T) {
	dir := folder(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Sockets(dir); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("an open folder: %v", err)
	}
	d := opened(t, dir, &keeper{})
	for path, want := range map[string]os.FileMode{dir: 0o700, d.Path(): 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(link, 0); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a link: %v", err)
	}
	if _, err := Sockets(link); err == nil {
		t.Error("a link passes for a folder of sockets")
	}
}
