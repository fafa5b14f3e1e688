// Package private makes and checks folders that only this user may enter.
//
// What a server remembers tells what its sessions did: other users of the
// machine may neither read nor change it. Start with [Folder].
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FileMode is the mode of files in such folders.
const FileMode = 0o600

// Folder makes path where it is missing (0700, parents too) and refuses one
// that is a link, or another user's, or open to others. The last is repaired
// where the folder is ours.
func Folder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("folder %s: %w", path, err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("folder %s: %w", path, err)
	}
	return check(path, true)
}

// Check refuses a folder as [Folder] does, and changes nothing.
func Check(path string) error { return check(path, false) }

func check(path string, repair bool) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return fmt.Errorf("folder %s: %w", path, err)
	case !info.IsDir():
		return fmt.Errorf("folder %s: a link or a file stands there; remove it", path)
	}
	return owned(path, info, repair)
}
