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

// errDepends is the reason for a path through a link that means another place
// in every process.
var errDepends = errors.New("leads through a link of a process, which means another place in every process")

// target is the place a path leads to. With an error real is a guess, good
// for finding protections only.
type target struct {
	real     string
	exists   bool
	links    int
	dangling bool // a link was met whose target is not there
	node     node // of what is there; zero when nothing is
	err      error
}

// follow resolves every link of the longest existing prefix of the absolute
// path the way a kernel does: a link is followed before ".." is taken. What
// does not exist yet is appended. Any other error is kept, since then nobody
// knows where the path leads.
func (r Resolver) follow(path string) target {
	if len(path) > maxPath {
		return target{real: filepath.Clean(path), err: fmt.Errorf("resolve %.64q…: longer than %d bytes", path, maxPath)}
	}
	if !climbs(path) {
		if t, ok := r.memory.straight(path); ok {
			return t
		}
	}
	volume := filepath.VolumeName(path)
	w := walk{target: target{real: volume + string(filepath.Separator), exists: true}, rest: segments(path[len(volume):]), outer: maxPath, cwd: r.Cwd, memory: r.memory}
	for len(w.rest) > 0 && w.err == nil {
		name := w.rest[0]
		w.rest = w.rest[1:]
		if name == ".." {
			w.real, w.node = filepath.Dir(w.real), node{}
			continue
		}
		w.step(name)
	}
	if w.err != nil {
		w.real = filepath.Join(append([]string{w.real}, w.rest...)...)
	} else if w.depends {
		w.err = fmt.Errorf("resolve %q: %w", path, errDepends)
	}
	if w.exists && w.err == nil && w.node == (node{}) {
		w.node, w.err = lstat(w.real)
	}
	return w.target
}

// walk is a path being followed.
type walk struct {
	target
	rest    []string // segments not yet entered
	outer   int      // rest was this long behind the first link being followed; longer means within its target
	depends bool     // a link of a process was met
	cwd     string
	memory  *memory
}

// step enters one name.
func (w *walk) step(name string) {
	here := join(w.real, name)
	if !w.exists {
		w.real = here
		return
	}
	if w.memory.plain(here) {
		w.real, w.node = here, node{}
		return
	}
	n, err := lstat(here)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.real, w.exists, w.node = here, false, node{}
		w.dangling = len(w.rest) >= w.outer
	case err != nil:
		w.real, w.err = here, fmt.Errorf("resolve %q: %w", here, err)
	case n.mode&fs.ModeSymlink != 0:
		w.link(here)
	case n.mode&fs.ModeIrregular != 0:
		w.real, w.err = here, fmt.Errorf("resolve %q: a mount point or something else that is no file, folder or link", here)
	default:
		w.real, w.node = here, n
	}
}

// link puts the segments of a link before the rest.
func (w *walk) link(here string) {
	if w.links++; w.links > maxLinks {
		w.real, w.err = here, fmt.Errorf("resolve %q: more than %d links", here, maxLinks)
		return
	}
	to, err := os.Readlink(here)
	if err != nil {
		w.real, w.err = here, fmt.Errorf("resolve %q: %w", here, err)
		return
	}
	if strings.HasPrefix(here, "/proc/") {
		w.depends = true
		if strings.HasSuffix(here, "/cwd") && w.cwd != "" {
			to = w.cwd // the session's, not ours
		}
	}
	if len(w.rest) < w.outer {
		w.outer = len(w.rest)
	}
	w.node = node{}
	if filepath.IsAbs(to) {
		volume := filepath.VolumeName(to)
		w.real = volume + string(filepath.Separator)
		to = to[len(volume):]
	}
	w.rest = append(segments(to), w.rest...)
}

// join is filepath.Join of a cleaned folder and a name in it.
func join(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
