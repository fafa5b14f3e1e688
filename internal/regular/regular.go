// Package regular opens files that somebody else may have put in place: it takes
// regular files only and never waits. A plain open(2) of a FIFO waits for a
// writer, for good and past every context, and that of a device can have effects.
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotRegular is wrapped by the errors of what is no regular file, after links
// were followed: folders, FIFOs, sockets and devices.
var ErrNotRegular = errors.New("not a regular file")

// Open opens path for reading. Links are followed.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path) // a device is best not opened at all
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|doNotWait, 0)
	return checked(f, path, err)
}

// OpenIn is Open inside root: a link that leads out of it is an error.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|doNotWait, 0)
	return checked(f, name, err)
}

// checked looks at what was opened: the name may have come to mean another file.
func checked(f *os.File, name string, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read returns the content of path, which may have limit bytes; one byte more is
// an error. Links are followed.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	return bounded(f, path, limit, err)
}

// ReadIn is Read inside root.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(root, name)
	return bounded(f, name, limit, err)
}

func bounded(f *os.File, name string, limit int64, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if info, err := f.Stat(); err == nil { // so that a large one is not copied as it grows
		text.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	}
	_, err = text.ReadFrom(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(text.Len()) > limit:
		return nil, fmt.Errorf("%s: over %d bytes", name, limit)
	}
	return text.Bytes(), nil
}
