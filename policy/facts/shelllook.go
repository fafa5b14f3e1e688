package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what is looked up for one text. Words beyond them stay unresolved
// and make the text not OK.
const (
	maxLooks    = 768 // paths, long ones counted several times
	maxPatterns = 8   // words with *, ?, [ or braces
)

// looker resolves the paths of one shell text.
type looker struct {
	r        Resolver // its Cwd is that of the command being looked at
	start    string   // folder in which the text starts; empty when not known
	cdpath   bool     // cd may search further folders
	left     int      // of maxLooks
	patterns int      // of maxPatterns
	repos    []knownRepository
}

type knownRepository struct {
	folder string
	repository
}

func newLooker(r Resolver) looker {
	l := looker{r: r.ready(), left: maxLooks, patterns: maxPatterns, cdpath: os.Getenv("CDPATH") != ""}
	if filepath.IsAbs(r.Cwd) {
		l.start = r.Cwd
	}
	return l
}

// bytesPerLook is how much of a path one look pays for.
const bytesPerLook = 64

// pay reports whether n more looks may be made.
func (l *looker) pay(n int) bool {
	l.left -= n
	return l.left >= 0
}

func (l *looker) over() bool { return l.left < 0 || l.patterns < 0 }

func (l *looker) reason() string {
	if l.patterns < 0 {
		return fmt.Sprintf("more than %d words with patterns or braces", maxPatterns)
	}
	return fmt.Sprintf("more than %d words that may name files", maxLooks)
}

// look resolves one spelling. A quoted ~ does not mean the home folder.
func (l *looker) look(v string, tilde bool, mode Mode) Path {
	if !l.pay(1 + len(v)/bytesPerLook) {
		return Path{Raw: v, Mode: mode}
	}
	spelled := v
	if !tilde && strings.HasPrefix(v, "~") {
		spelled = "./" + v
	}
	p := l.r.Resolve(spelled, mode)
	p.Raw = v
	return l.rooted(p)
}

// rooted keeps the session's own folder from being taken for any folder where
// the command runs in another one.
func (l *looker) rooted(p Path) Path {
	if l.start != "" && l.r.Cwd != l.start {
		p.IsRoot = p.IsRoot || within(p.Abs, l.start) || within(p.Real, l.start)
	}
	return p
}

// lookAs is look for a program of which nobody knows whether it writes: what
// may not be written is protected, too.
func (l *looker) lookAs(v string, tilde bool, mode Mode, unknown bool) Path {
	if !unknown || mode == Write {
		return l.look(v, tilde, mode)
	}
	written := l.look(v, tilde, Write)
	if written.Protected || written.Sensitive {
		if read := l.look(v, tilde, Read); read.Protected || !written.Protected {
			return read
		}
		return written
	}
	written.Mode = Read
	return written
}

// pattern resolves what an unquoted word with *, ?, [ or braces may meet.
func (l *looker) pattern(v string, tilde bool, mode Mode, unknown bool) Path {
	if l.patterns--; l.patterns < 0 {
		return Path{Raw: v, Mode: mode}
	}
	spelled := v
	if !tilde && strings.HasPrefix(v, "~") {
		spelled = "./" + v
	}
	p := l.r.Pattern(spelled, mode)
	if unknown && mode == Read && !p.Protected {
		if w := l.r.Pattern(spelled, Write); w.Protected {
			p = w
		}
	}
	p.Raw, p.Glob.Pattern = v, v
	return l.rooted(p)
}

// repository tells of the repository around a folder, once.
func (l *looker) repository(folder string) repository {
	for _, known := range l.repos {
		if known.folder == folder {
			return known.repository
		}
	}
	if !l.pay(8) {
		return repository{runs: true}
	}
	found := repositoryOf(folder)
	l.repos = append(l.repos, knownRepository{folder, found})
	return found
}
