package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// filterLink is the name under which a program becomes the filter.
type filterLink struct {
	target string
	folder string // where it lies for good; empty: it cannot, see temporary
	parent string // for a folder that lives as long as the engine

	mu   sync.Mutex // its own: a folder on a slow network must not hold up who needs no filter
	made string     // that folder
}

// openFilter finds a place for the link, which is made when it is first needed. The CLI splits the prefix at its last
// " -", which a path may therefore not hold.
func openFilter(o *Options) (*filterLink, error) {
	switch {
	case o.Filter == "":
		return nil, nil
	case runtime.GOOS == "windows":
		return nil, errors.New("engine options: Filter: there is no filter for Windows; leave it empty")
	case o.FilterSpec == nil:
		return nil, errors.New("engine options: Filter needs FilterSpec, which says what it covers")
	case !filepath.IsAbs(o.Filter):
		return nil, fmt.Errorf("engine options: Filter %q: not an absolute path", o.Filter)
	}
	l := &filterLink{target: o.Filter, parent: o.TempDir}
	if o.StateDir != "" && filepath.IsAbs(o.StateDir) && !splitByCLI(o.StateDir) {
		sum := sha256.Sum256([]byte(o.Filter)) // servers of several programs share the folder
		l.folder = filepath.Join(o.StateDir, "filter", hex.EncodeToString(sum[:8]))
	} else if !filepath.IsAbs(o.TempDir) || splitByCLI(o.TempDir) {
		return nil, fmt.Errorf("engine options: Filter: neither StateDir %q nor TempDir %q can hold it: want an absolute path without \" -\"", o.StateDir, o.TempDir)
	}
	return l, nil
}

func splitByCLI(path string) bool { return strings.Contains(path, " -") }

// path returns the link's path after it was checked, and made where it is missing.
func (l *filterLink) path() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if info, err := os.Stat(l.target); err != nil {
		return "", fmt.Errorf("filter: %w", err)
	} else if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("filter: %s is no program", l.target)
	}
	folder, err := l.private()
	if err != nil {
		return "", fmt.Errorf("filter: %w", err)
	}
	path := filepath.Join(folder, filterName)
	if to, err := os.Readlink(path); err == nil && to == l.target {
		return path, nil
	}
	fresh, err := os.MkdirTemp(folder, "new-") // a rename replaces what stands there, whatever it is
	if err != nil {
		return "", fmt.Errorf("filter: %w", err)
	}
	defer os.RemoveAll(fresh)
	link := filepath.Join(fresh, filterName)
	if err := os.Symlink(l.target, link); err != nil {
		return "", fmt.Errorf("filter: %w", err)
	}
	if err := os.Rename(link, path); err != nil {
		return "", fmt.Errorf("filter: %w", err)
	}
	return path, nil
}

// private returns the link's folder, which nobody else can write to.
func (l *filterLink) private() (folder string, err error) {
	folder = l.folder
	if folder == "" {
		if _, gone := os.Lstat(l.made); l.made == "" || gone != nil { // cleaners remove what is temporary
			l.made, err = os.MkdirTemp(l.parent, "gatehouse-filter-*")
		}
		folder = l.made
	}
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByUs(info):
		return "", fmt.Errorf("%s must be a folder of yours that nobody else can enter; remove it", folder)
	}
	return folder, nil
}

func (l *filterLink) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != "" {
		os.RemoveAll(l.made)
	}
}
