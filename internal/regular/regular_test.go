package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// both reads a file by its path, and by its name in its folder.
func both(t *testing.T, folder, name string, limit int64, want func(t *testing.T, text string, err error)) {
	t.Run("by path", func(t *testing.T) {
		text, err := Read(filepath.Join(folder, name), limit)
		want(t, string(text), err)
	})
	t.Run("in a folder", func(t *testing.T) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		text, err := ReadIn(root, name, limit)
		want(t, string(text), err)
	})
}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "file"), "12345")
	if err := os.Symlink("file", filepath.Join(folder, "link")); err != nil {
		t.Skip("links cannot be made here: ", err)
	}
	for _, name := range []string{"file", "link"} {
		both(t, folder, name, 5, func(t *testing.T, text string, err error) {
			if text != "12345" || err != nil {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		})
	}
	both(t, folder, "file", 4, func(t *testing.T, text string, err error) {
		if text != "" || err == nil {
			t.Errorf("over the limit: %q, %v", text, err)
		}
	})
	both(t, folder, "none", 4, func(t *testing.T, _ string, err error) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
	})
	both(t, folder, ".", 4, func(t *testing.T, _ string, err error) {
		if !errors.Is(err, ErrNotRegular) {
			t.Errorf("folder: %v", err)
		}
	})
}

func TestReadInStaysInside(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "file"), "text")
	if err := os.Symlink(filepath.Join(outside, "file"), filepath.Join(folder, "link")); err != nil {
		t.Skip("links cannot be made here: ", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if text, err := ReadIn(root, "link", 10); err == nil {
		t.Errorf("a link out of the folder was followed: %q", text)
	}
}
