package facts

import (
	"os"
	"path/filepath"
	"strings"
)

// of returns the folder that a place stands for. A change that may have failed
// counts only if its folder is there and can be entered.
func (l *looker) of(p *place) Folder {
	switch {
	case p == nil:
		return Folder{Value: l.start, Known: l.start != ""}
	case p == lost:
		return Folder{}
	case !p.done:
		p.done = true
		p.folder, p.straight = l.enter(p)
	}
	return p.folder
}

func (l *looker) enter(p *place) (f Folder, straight bool) {
	from := l.of(p.from)
	to := p.to.Value
	along := p.from == nil || p.from.straight
	if !from.Known || l.cdpath && searched(to) || climbsBack(to) || !along && climbs(to) {
		return Folder{}, false
	}
	l.r.Cwd = from.Value
	found := l.look(to, p.to.Tilde, Read)
	if !found.Resolved || found.Real == "" || !p.sure && !enterable(found.Real) {
		return Folder{}, false
	}
	along = along || filepath.IsAbs(to) || p.to.Tilde
	return Folder{Value: found.Real, Known: true}, along && found.Real == found.Abs
}

// climbsBack reports a path that goes up after it went down: there shell and
// kernel differ where links are met.
func climbsBack(path string) bool {
	down := false
	for _, s := range segments(path) {
		if s != ".." {
			down = true
		} else if down {
			return true
		}
	}
	return false
}

// searched reports a target that cd looks for in CDPATH.
func searched(to string) bool {
	for _, prefix := range []string{"/", "./", "../"} {
		if strings.HasPrefix(to, prefix) {
			return false
		}
	}
	return to != "." && to != ".."
}

// enterable reports whether dir is a folder that this account may enter.
func enterable(dir string) bool {
	info, err := os.Stat(dir + string(filepath.Separator) + ".")
	return err == nil && info.IsDir()
}
