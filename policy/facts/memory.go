package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what is remembered within one call; what is beyond is looked up again.
const (
	maxSpots   = 64
	maxFolders = 64
)

// memory is what the file system said during one call. Nothing of it lives
// longer, because a session can put a link anywhere between two calls.
type memory struct {
	spots     []*spot
	folders   []string // known to be folders, with no link above them
	originals []original
	listed    bool // originals is complete
	listing   int  // effort spent on listing what patterns meet, see maxListing
	spellings int  // of patterns looked at, see maxSpellings
}

// spot is one spelling of a path: what its names say and where it leads.
type spot struct {
	spelling string
	target
	certain bool
	named   verdict // of the spelling
	led     verdict // of where it leads, when that is another place
}

// visit looks a cleaned or climbing absolute path up.
func (r Resolver) visit(spelling string) *spot {
	for _, known := range r.memory.spots {
		if known.spelling == spelling {
			return known
		}
	}
	at := &spot{spelling: spelling, target: r.follow(spelling)}
	at.certain = at.err == nil
	at.named = r.places.judge(spelling)
	if at.real != spelling {
		at.led = r.places.judge(at.real)
	}
	if len(r.memory.spots) < maxSpots {
		r.memory.spots = append(r.memory.spots, at)
	}
	return at
}

// straight resolves a cleaned path in which there is no link. It reports
// false when there may be one, or when something else is in the way; the
// folders before it are remembered then.
func (m *memory) straight(path string) (target, bool) {
	folder := lastFolder(path)
	if known := m.beginning(path); known < folder {
		switch n, told := probe(path); told {
		case probedThere:
			m.remember(path[:folder])
			return target{real: path, exists: true, node: n}, true
		case probedMissing:
			return target{real: path}, true
		}
		m.above(path, known)
	}
	for end := m.beginning(path); ; {
		end = nextEnd(path, end)
		n, err := lstat(path[:end])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return target{real: path}, true
		case err != nil || n.mode&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return target{}, false
		case end == len(path):
			return target{real: path, exists: true, node: n}, true
		}
		m.remember(path[:end])
	}
}

// maxProbes bounds the folders above a path that are asked for as a whole.
const maxProbes = 3

// above remembers a folder above path that no link leads to.
func (m *memory) above(path string, known int) {
	for range maxProbes {
		path = path[:lastFolder(path)]
		if len(path) <= known {
			return
		}
		if n, told := probe(path); told == probedThere && n.mode.IsDir() {
			m.remember(path)
			return
		}
	}
}

// plain reports a folder that was seen to have no link above it, nor to be one.
func (m *memory) plain(folder string) bool {
	for _, f := range m.folders {
		if strings.HasPrefix(f, folder) && (len(f) == len(folder) || os.IsPathSeparator(f[len(folder)])) {
			return true
		}
	}
	return false
}

// beginning returns the length of the longest known folder above path, else
// that of its volume.
func (m *memory) beginning(path string) int {
	longest := len(filepath.VolumeName(path))
	for _, f := range m.folders {
		if len(f) > longest && len(f) < len(path) && os.IsPathSeparator(path[len(f)]) && path[:len(f)] == f {
			longest = len(f)
		}
	}
	return longest
}

func (m *memory) remember(folder string) {
	if folder != "" && len(m.folders) < maxFolders {
		m.folders = append(m.folders, folder)
	}
}

// nextEnd returns where the segment behind from ends; a root alone is its own.
func nextEnd(path string, from int) int {
	for end := from + 1; end < len(path); end++ {
		if os.IsPathSeparator(path[end]) {
			return end
		}
	}
	return len(path)
}

// lastFolder returns the length of the folder that holds path.
func lastFolder(path string) int {
	for i := len(path) - 1; i > 0; i-- {
		if os.IsPathSeparator(path[i]) {
			return i
		}
	}
	return 0
}
