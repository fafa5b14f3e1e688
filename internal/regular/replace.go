package regular

import (
	"os"
	"path/filepath"
)

// Replace puts content in a file's place, readable by its owner only. Whoever
// reads the file, also after a crash, finds the old content or the new one
// whole. Where path is a link, the link is replaced.
func Replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // created 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(content)
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
