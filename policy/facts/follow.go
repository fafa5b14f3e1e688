package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the links followed for one path; Linux itself stops at 40.
const maxLinks = 40

// target is the place a path leads to.
type target struct {
	real   string
	exists bool
	links  int
}

// follow resolves every link of the longest existing prefix of the absolute
// path the way a kernel does: a link is followed before ".." is taken. What
// does not exist yet is appended. Any other error is returned, since then
// nobody knows where the path leads.
func follow(path string) (target, error) {
	volume := filepath.VolumeName(path)
	t := target{real: volume + string(filepath.Separator), exists: true}
	rest := segments(path[len(volume):])
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			t.real = filepath.Dir(t.real)
			continue
		}
		next, err := t.step(name)
		if err != nil {
			return target{}, err
		}
		rest = append(next, rest...)
	}
	return t, nil
}

// step enters one name and returns the segments of a link met there.
func (t *target) step(name string) ([]string, error) {
	here := filepath.Join(t.real, name)
	if !t.exists {
		t.real = here
		return nil, nil
	}
	info, err := os.Lstat(here)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.real, t.exists = here, false
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("resolve %q: %w", here, err)
	case info.Mode()&fs.ModeSymlink == 0:
		t.real = here
		return nil, nil
	}
	return t.link(here)
}

func (t *target) link(here string) ([]string, error) {
	if t.links++; t.links > maxLinks {
		return nil, fmt.Errorf("resolve %q: more than %d links", here, maxLinks)
	}
	to, err := os.Readlink(here)
	if err != nil {
		return nil, fmt.Errorf("resolve %q: %w", here, err)
	}
	if filepath.IsAbs(to) {
		volume := filepath.VolumeName(to)
		t.real = volume + string(filepath.Separator)
		to = to[len(volume):]
	}
	return segments(to), nil
}

func segments(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	kept := parts[:0]
	for _, p := range parts {
		if p != "." {
			kept = append(kept, p)
		}
	}
	return kept
}
