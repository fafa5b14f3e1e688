// Package filelock locks files by name, so that one process of many does a thing.
//
// [Take] is for a lock that somebody else may hold; it never waits.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrHeld is returned for a lock that somebody else holds, this process included.
var ErrHeld = errors.New("held by another process")

// maxTries bounds how often a file that was removed meanwhile is opened again.
const maxTries = 100

// Take locks path, a file that is made if need be (0600) and removed when it is
// unlocked. Where the system has locks that end with their process, a killed
// one leaves none behind. Elsewhere the file itself is the lock: one older than
// stale no longer counts.
func Take(path string, stale time.Duration) (unlock func(), err error) {
	for range maxTries {
		f, err := openLocked(path, stale)
		if err != nil {
			return nil, err
		}
		// Whoever locks must look whether the name still means the same file: the
		// last holder may have removed it in between.
		mine, err1 := f.Stat()
		named, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, named) {
			return func() {
				os.Remove(path) // while it is locked: nobody else holds this file
				f.Close()
			}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("lock %s: it was removed %d times", path, maxTries)
}
