package regular

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts content in a file's place, readable by its owner only. Whoever
// reads the file, also after a crash, finds the old content or the new one
// whole. Where path is a link, the link is replaced.
func Replace(path string, content []byte) error { return replace(path, content, 0o600) }

// Rewrite is Replace for a file that is there and keeps its mode.
func Rewrite(path string, content []byte) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "rewrite", Path: path, Err: ErrNotRegular}
	}
	return replace(path, content, info.Mode().Perm())
}

func replace(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // created 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(content)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
