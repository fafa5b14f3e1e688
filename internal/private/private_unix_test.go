//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "c")
	if err := Folder(path); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v", p, info.Mode(), err)
		}
	}
	if err := Folder(path); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "mode 0750") {
		t.Errorf("check of a folder open to a group: %v", err)
	}
	if err := Folder(path); err != nil || Check(path) != nil {
		t.Errorf("repair: %v, then %v", err, Check(path))
	}
}

func TestRefusedFolder(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link, file, foreign := filepath.Join(dir, "link"), filepath.Join(dir, "file"), filepath.Join(dir, "foreign")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{link: "a link or a file stands there", file: "a link or a file stands there"}
	if os.Getuid() == 0 { // else nobody can give a folder away
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		tests[foreign] = "owned by another user"
	}
	for path, want := range tests {
		for name, f := range map[string]func(string) error{"folder": Folder, "check": Check} {
			if err := f(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want %q", name, path, err, want)
			}
		}
	}
	if err := Check(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("check of nothing: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("check made a folder")
	}
}
