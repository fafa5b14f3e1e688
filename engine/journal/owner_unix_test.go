//go:build unix

package journal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOwners gives folders and files to somebody else, or opens them to others.
func TestOwners(t *testing.T) {
	stranger := func(path string) error { return os.Chown(path, os.Geteuid()+1, -1) }
	opened0 := func(path string) error { return os.Chmod(path, 0o770) }
	fifo := func(path string) error { os.Remove(path); return syscall.Mkfifo(path, 0o600) }
	for _, c := range []struct {
		name   string
		change func(string) error
		folder bool
		why    string
		root   bool
	}{
		{"another's folder", stranger, true, "another user", true},
		{"another's file", stranger, false, "another user", true},
		{"an open folder", opened0, true, "others may enter", false},
		{"an open file", opened0, false, "others may open", false},
		{"a FIFO", fifo, false, "a link or a folder", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			j := opened(t, Options{Folder: filepath.Join(t.TempDir(), "journal")})
			path := kept(t, j)
			if c.folder {
				path = filepath.Dir(path)
			}
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			refused(t, j, c.why)
		})
	}
	t.Run("modes of what is made", func(t *testing.T) {
		before := syscall.Umask(0)
		defer syscall.Umask(before)
		j := opened(t, Options{Folder: filepath.Join(t.TempDir(), "a", "journal")})
		file := kept(t, j)
		for path, mode := range map[string]os.FileMode{j.o.Folder: 0o700, filepath.Dir(file): 0o700, file: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	})
}
