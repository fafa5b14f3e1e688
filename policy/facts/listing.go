package facts

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Bounds of listing; a pattern that meets one is truncated.
const (
	maxListing   = 2048 // effort in one call: a name read is 1, a file looked at 2, a folder opened 8
	maxDepth     = 12   // folders entered below one another
	maxSpellings = 256  // patterns looked at in one call; more may spell a secret
)

// lister finds what a pattern meets. It opens folders through the session
// root that holds them, so that no link can lead it out; outside the roots it
// lists nothing.
type lister struct {
	r       Resolver
	mode    Mode
	style   style
	root    *os.Root
	base    string // of root
	met     *Path  // what the files met add up to; nil: none was looked at
	matches []string
	secret  string // the first protected file that was met
	more    bool   // not everything was listed
	unknown bool   // something could not be looked at
	spelled bool   // the text itself names, or may name, a secret
}

// list walks a folder below a root; false when it may not be looked into.
func (l *lister) list(folder string, segs []string) bool {
	base := l.r.root(folder)
	rel, err := filepath.Rel(base, folder)
	if n, lerr := lstat(folder); base == "" || err != nil || errors.Is(lerr, fs.ErrNotExist) || lerr == nil && !n.mode.IsDir() {
		return base != "" && err == nil // nothing is there, so nothing is met
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return false
	}
	defer root.Close()
	l.root, l.base = root, base
	l.walk(rel, segs, 0)
	return true
}

// walk meets the entries of one folder with the first segment of a pattern.
func (l *lister) walk(rel string, segs []string, depth int) {
	for len(segs) > 1 && segs[0] == "**" && segs[1] == "**" {
		segs = segs[1:]
	}
	if depth > maxDepth || !l.spend(1) {
		l.more = true
		return
	}
	if segs[0] == "**" && len(segs) > 1 {
		l.walk(rel, segs[1:], depth+1) // it stands for no folder, too
	}
	if !magic(segs[0]) {
		l.literal(rel, segs, depth)
		return
	}
	var deeper []fs.DirEntry
	for _, e := range l.read(rel) {
		if l.meetsEntry(segs[0], e) && l.enters(rel, segs, e) {
			deeper = append(deeper, e)
		}
	}
	left := segs[1:]
	if segs[0] == "**" {
		left = segs
	}
	for _, e := range deeper {
		l.walk(filepath.Join(rel, e.Name()), left, depth+1)
	}
}

// meetsEntry reports whether a segment with magic meets an entry.
func (l *lister) meetsEntry(seg string, e fs.DirEntry) bool {
	name := e.Name()
	if name[0] == '.' && !l.style.hidden && seg[0] != '.' && seg[0] != '[' {
		return false
	}
	return seg == "**" || matchSegment(fold(seg), fold(name))
}

// enters adds an entry that the last segment met, and reports whether the
// pattern goes on in it. ** enters no link.
func (l *lister) enters(rel string, segs []string, e fs.DirEntry) bool {
	if len(segs) == 1 {
		l.add(rel, e.Name(), e.Type())
		return segs[0] == "**" && e.IsDir()
	}
	return e.IsDir() || segs[0] != "**" && e.Type()&fs.ModeSymlink != 0
}

// literal goes on without reading the folder.
func (l *lister) literal(rel string, segs []string, depth int) {
	if len(segs) > 1 {
		l.walk(filepath.Join(rel, segs[0]), segs[1:], depth+1)
		return
	}
	if !l.spend(2) {
		l.more = true
		return
	}
	info, err := l.root.Lstat(filepath.Join(rel, segs[0]))
	switch {
	case err == nil:
		l.add(rel, segs[0], info.Mode().Type())
	case !absent(err):
		l.unknown = true
	}
}

func (l *lister) read(rel string) []fs.DirEntry {
	if !l.spend(8) {
		l.more = true
		return nil
	}
	dir, err := l.root.OpenFile(rel, os.O_RDONLY|directoryOnly, 0)
	if err != nil {
		l.unknown = l.unknown || !absent(err)
		return nil
	}
	defer dir.Close()
	left := max(1, maxListing-l.r.memory.listing)
	entries, err := dir.ReadDir(left)
	if err != nil && err != io.EOF {
		l.unknown = true
	}
	l.more = l.more || len(entries) == left
	l.spend(len(entries))
	return entries
}

// spend reports whether there is effort left for a step, and takes it.
func (l *lister) spend(effort int) bool {
	l.r.memory.listing += effort
	return l.r.memory.listing <= maxListing
}

// absent reports that nothing is there to enter.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
