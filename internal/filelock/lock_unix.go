//go:build unix && !solaris && !illumos && !aix

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// keepsName: a file that is locked can be removed.
const keepsName = false

// openLocked opens and locks a file; the lock ends with the file, so also with
// this process, however it ends.
func openLocked(path string, _ time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrHeld
	default:
		err = fmt.Errorf("lock %s: %w", path, err)
	}
	f.Close()
	return nil, err
}

// held asks for a lock that many can have at once, so that two who look do not
// take each other for the holder.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
