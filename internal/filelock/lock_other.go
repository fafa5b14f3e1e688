//go:build (!unix || solaris || illumos || aix) && !windows

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// keepsName: a file that is open can be removed.
const keepsName = false

// openLocked creates the file, which has to be new: there is no lock in the
// standard library that ends with the process here.
func openLocked(path string, stale time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	info, err := os.Stat(path)
	if err == nil && time.Since(info.ModTime()) > stale && os.Remove(path) == nil {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return nil, ErrHeld
}

func held(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
