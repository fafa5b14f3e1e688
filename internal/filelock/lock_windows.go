package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// keepsName: nobody can remove or rename a file that is open and shared with
// nobody.
const keepsName = true

const sharingViolation syscall.Errno = 32 // ERROR_SHARING_VIOLATION

// openLocked opens a file that nobody else can open meanwhile. The system closes
// it with this process, however it ends.
func openLocked(path string, _ time.Duration) (*os.File, error) {
	const nobody = 0 // may do anything with it
	return open(path, syscall.OPEN_ALWAYS, nobody)
}

func open(path string, how, shared uint32) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, shared, nil, how, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, ErrHeld
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return os.NewFile(uintptr(handle), path), nil
}

// held shares the file with everybody, so that two who look do not take each other
// for the holder.
func held(path string) bool {
	f, err := open(path, syscall.OPEN_EXISTING, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, ErrHeld)
}
