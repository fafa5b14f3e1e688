package regular

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	for _, content := range []string{"first", "second, and longer"} {
		if err := Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(folder, "folder"), nil); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRewriteKeepsTheMode(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	if err := Rewrite(path, nil); err == nil {
		t.Error("a file that is not there was made")
	}
	for _, mode := range []os.FileMode{0o640, 0o600} {
		write(t, path, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := Rewrite(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("mode %04o became %04o", mode, info.Mode().Perm())
		}
	}
	if err := os.Symlink("file", filepath.Join(folder, "link")); err != nil {
		t.Skip("links cannot be made here: ", err)
	}
	if err := Rewrite(filepath.Join(folder, "link"), nil); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
}
