// Package filelock locks files by name, so that one process of many does a thing.
//
// [Take] is for a lock that somebody else may hold; it never waits. [Held] looks
// whether somebody does, and disturbs nobody.
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
// unlocked. On Unix and Windows the lock ends with its process, so that a killed
// one leaves none behind, and stale means nothing. Elsewhere the file itself is
// the lock: one older than stale no longer counts.
func Take(path string, stale time.Duration) (unlock func(), err error) {
	for range maxTries {
		f, err := openLocked(path, stale)
		if err != nil {
			return nil, err
		}
		if stands(f, path) {
			return func() { remove(f, path) }, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("lock %s: it was removed %d times", path, maxTries)
}

// Held reports whether somebody, this process included, holds the lock. It makes
// no file. While it looks, a Take of the same lock can see it as held.
func Held(path string) bool { return held(path) }

// stands reports whether the name still means the file that was locked: the last
// holder may have removed it in between.
func stands(f *os.File, path string) bool {
	if keepsName {
		return true
	}
	mine, err1 := f.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(mine, named)
}

// remove unlocks and removes the file, where possible while nobody else can have
// locked it.
func remove(f *os.File, path string) {
	if keepsName {
		f.Close()
		os.Remove(path) // fails when somebody else has it by now, as it should
		return
	}
	os.Remove(path)
	f.Close()
}
