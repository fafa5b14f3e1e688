//go:build !unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lockStale is the age after which the file of a killed command no longer counts:
// the standard library has no lock here that ends with the process.
const lockStale = time.Minute

// tryLock creates a file, which has to be new.
func tryLock(path string) (unlock func(), err error) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > lockStale {
		_ = os.Remove(path) // fails while somebody holds it open
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return func() {
		f.Close()
		os.Remove(path)
	}, nil
}
