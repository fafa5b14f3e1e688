// Package facts computes what policies need to know about a call before they
// judge it: where paths really lead, what a shell text would run, which files
// a prompt mentions.
//
// A policy author must never compare path strings or split shell words; the
// facts do that once, in Go, and every doubt is told in the safe direction: a
// path that cannot be resolved is not inside, a shell text that cannot be
// understood is not ok. Start with [Resolver] for paths, [Analyse] for shell
// text and [Mentions] for prompts. Nothing here opens a file's content but
// [GitRunsPrograms], which reads bounded parts of a repository's own config and index;
// folders are listed within bounds for patterns and for hard links.
package facts

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Mode says what a call does to a path.
type Mode string

// The modes.
const (
	Read  Mode = "read"
	Write Mode = "write"
)

// Path is what is known about one path. Absent things are empty, never missing.
type Path struct {
	Arg         string   `json:"arg" doc:"JSON pointer to the argument in the tool's input"`
	Raw         string   `json:"raw" doc:"as the caller wrote it"`
	Abs         string   `json:"abs" doc:"absolute and cleaned, links not followed"`
	Real        string   `json:"real" doc:"absolute, links followed; empty when that is impossible"`
	Inside      bool     `json:"inside" doc:"abs and real lie in a root, by path segment"`
	Root        string   `json:"root" doc:"the root that holds real; empty when outside"`
	Resolved    bool     `json:"resolved" doc:"abs and real are certain; else inside is false for want of knowledge"`
	Exists      bool     `json:"exists" doc:"something is there now"`
	IsDir       bool     `json:"is_dir" doc:"it is a folder now; of a pattern, one of those it meets is"`
	Symlink     bool     `json:"symlink" doc:"a link was followed"`
	Hardlink    bool     `json:"hardlink" doc:"the same file as a secret or protected one, under another name"`
	Nlink       int      `json:"nlink" doc:"names of the file; 0 when it does not exist or nobody can tell"`
	Mode        Mode     `json:"mode" doc:"what the call does to it" enum:"read,write"`
	Protected   bool     `json:"protected" doc:"nobody may do this to it"`
	ProtectedBy string   `json:"protected_by" doc:"name of the protection; empty when none"`
	Sensitive   bool     `json:"sensitive" doc:"somebody should look first"`
	SensitiveBy string   `json:"sensitive_by" doc:"why somebody should look; empty when nobody need"`
	IsRoot      bool     `json:"is_root" doc:"a root, the working folder, the home folder, a folder of Gatehouse, / or a folder above one of them"`
	Flags       []string `json:"flags" doc:"what is odd about it, sorted: backslash, blank, control, dangling, device, drive, home, invisible, mixed_script, percent, scheme, tilde"`
	Glob        *Glob    `json:"glob" doc:"null for a plain path"`
}

// Glob is what a pattern may meet.
type Glob struct {
	Pattern          string   `json:"pattern" doc:"as written"`
	MatchesProtected bool     `json:"matches_protected" doc:"it spells a protected name, meets a protected file, or has more alternatives than were looked at"`
	Matches          []string `json:"matches" doc:"what it meets now: absolute, sorted, at most 32"`
	Protected        string   `json:"protected" doc:"the first protected file it was seen to meet: absolute; empty when none was seen"`
	Truncated        bool     `json:"truncated" doc:"there may be more: too many to list, or nobody could look"`
}

// MaxMatches bounds the files listed for one pattern.
const MaxMatches = 32

// Resolver resolves the paths of one call. Cwd and Roots are absolute with
// links resolved; Home may be empty, then ~ is outside. Make it with
// [NewResolver], which shares what is the same for all calls and remembers,
// within this call only, what the file system said. A literal works too and
// remembers nothing. It may be copied and changed; it is not for several
// goroutines at once.
type Resolver struct {
	Cwd       string
	Start     string // folder the session began in, as precious as Cwd; may be empty
	Roots     []string
	Home      string
	Protected []string // further absolute files or folders nobody may write; without effect after NewResolver
	Secret    []string // the same that nobody may read either

	places *Places // nil: made from Protected
	memory *memory // nil: made for one Resolve
}

// NewResolver returns the resolver of one call.
func NewResolver(places *Places, cwd string, roots []string) Resolver {
	return Resolver{Cwd: cwd, Roots: roots, Home: places.home, places: places, memory: &memory{}}
}

func (r Resolver) ready() Resolver {
	if r.places == nil {
		r.places = NewPlaces(r.Home, r.Protected, r.Secret...)
	}
	if r.memory == nil {
		r.memory = &memory{}
	}
	return r
}

// Resolve says where raw leads. A path with blanks around it is looked at
// both ways, because the CLI trims it and a shell does not.
func (r Resolver) Resolve(raw string, mode Mode) Path {
	r = r.ready()
	p := Path{Raw: raw, Mode: mode}
	marks := textMarks(raw)
	p.Resolved = len(raw) <= maxPath && marks&(markControl|markUnclear) == 0
	p.Inside = p.Resolved
	trimmed := trim(raw)
	marks |= r.look(&p, trimmed, true)
	if trimmed != raw {
		marks |= r.look(&p, raw, false)
	}
	if !p.Inside {
		p.Root = ""
	}
	p.Flags = marks.names()
	return p
}

// maxPath bounds the bytes of a path that is resolved; no kernel takes more.
const maxPath = 4096

// look adds one spelling's facts. The kernel follows a link before it takes
// "..", Node cleans first; both readings must stay inside.
func (r Resolver) look(p *Path, s string, first bool) marks {
	joined, ok := r.join(s)
	if !ok || len(joined) > 2*maxPath {
		p.Inside, p.Resolved = false, false
		for _, names := range []string{s, s[:max(0, strings.IndexByte(s, 0))]} { // the names still tell, also before a NUL
			v := r.places.judge(filepath.Clean(string(filepath.Separator) + names))
			v.apply(p)
		}
		return 0
	}
	abs := filepath.Clean(joined)
	if first {
		p.Abs = abs
	}
	p.Inside = p.Inside && r.root(abs) != ""
	found := r.reading(p, abs, first)
	if abs != joined && climbs(joined) {
		found |= r.reading(p, joined, false)
	}
	if r.Home != "" && within(r.Home, abs) {
		found |= markHome
	}
	return found
}

// reading adds where one spelling leads and what protects the places it names.
func (r Resolver) reading(p *Path, spelling string, first bool) marks {
	at := r.visit(spelling)
	at.named.apply(p)
	at.led.apply(p)
	p.IsRoot = p.IsRoot || r.holds(spelling) || at.real != spelling && r.holds(at.real)
	if !at.certain {
		p.Inside, p.Resolved = false, false
		return at.marks()
	}
	if first {
		p.Real, p.Exists, p.Symlink, p.Root = at.real, at.exists, at.links > 0, r.root(at.real)
		p.Nlink = int(at.node.nlink)
	}
	p.Inside, p.IsDir = p.Inside && r.root(at.real) != "", p.IsDir || at.node.mode.IsDir()
	r.hardlink(p, at.real, at.node)
	found := at.marks()
	if r.Home != "" && within(r.Home, at.real) {
		found |= markHome
	}
	return found
}

// holds reports whether abs is a folder whose loss takes everything with it.
func (r Resolver) holds(abs string) bool {
	for _, root := range r.Roots {
		if root != "" && within(abs, root) {
			return true
		}
	}
	return r.Cwd != "" && within(abs, r.Cwd) || r.Start != "" && within(abs, r.Start) || r.Home != "" && within(abs, r.Home) || r.places.above(abs) || abs == filepath.Dir(abs)
}

// join makes s absolute without cleaning it.
func (r Resolver) join(s string) (string, bool) {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "", false
	case s == "~" || strings.HasPrefix(s, "~/"):
		return r.Home + s[1:], r.Home != ""
	case strings.HasPrefix(s, "~"):
		return "", false // another account's home, or a shell's own spelling
	case filepath.IsAbs(s):
		return s, true
	case runtime.GOOS == "windows" && (filepath.VolumeName(s) != "" || s != "" && os.IsPathSeparator(s[0])):
		return "", false // C:x and \x are relative to a place we do not know
	case !filepath.IsAbs(r.Cwd):
		return "", false
	}
	return r.Cwd + string(filepath.Separator) + s, true
}

func (r Resolver) root(abs string) string {
	for _, root := range r.Roots {
		if within(root, abs) {
			return root
		}
	}
	return ""
}
