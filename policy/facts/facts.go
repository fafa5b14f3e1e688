// Package facts computes what policies need to know about a call before they
// judge it: where paths really lead, what a shell text would run, which files
// a prompt mentions.
//
// A policy author must never compare path strings or split shell words; the
// facts do that once, in Go, and every doubt is told in the safe direction: a
// path that cannot be resolved is not inside, a shell text that cannot be
// understood is not ok. Start with [Resolver] for paths, [Analyse] for shell
// text and [Mentions] for prompts. Nothing here opens a file's content but
// [GitRunsPrograms], which reads a bounded part of a repository's own config.
package facts

import (
	"path/filepath"
	"strings"
	"unicode"
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
	Arg         string   `json:"arg"`          // JSON pointer to the argument in the tool's input
	Raw         string   `json:"raw"`          // as the caller wrote it
	Abs         string   `json:"abs"`          // absolute and cleaned, links not followed
	Real        string   `json:"real"`         // absolute, links followed; empty when that is impossible
	Inside      bool     `json:"inside"`       // Abs and Real lie in a root, by path segment
	Root        string   `json:"root"`         // the root that holds Real, empty when outside
	Resolved    bool     `json:"resolved"`     // Abs and Real are certain; else Inside is false for want of knowledge
	Exists      bool     `json:"exists"`       // something is there now
	Symlink     bool     `json:"symlink"`      // a link was followed
	Hardlink    bool     `json:"hardlink"`     // the same file as a protected one, under another name
	Nlink       int      `json:"nlink"`        // names of the file; 0 when it does not exist or nobody can tell
	Mode        Mode     `json:"mode"`         // read or write
	Protected   bool     `json:"protected"`    // nobody may do this to it
	ProtectedBy string   `json:"protected_by"` // name of the protection, empty when none
	Sensitive   bool     `json:"sensitive"`    // somebody should look first
	SensitiveBy string   `json:"sensitive_by"`
	IsRoot      bool     `json:"is_root"` // a root, the working folder, the home folder, / or a folder above one of them
	Flags       []string `json:"flags"`   // of [PathFlags], sorted
	Glob        *Glob    `json:"glob"`    // nil for a plain path
}

// Glob is what a pattern may meet.
type Glob struct {
	Pattern          string   `json:"pattern"`
	MatchesProtected bool     `json:"matches_protected"` // it could name a secret
	Matches          []string `json:"matches"`           // absolute, at most [MaxMatches]
	Truncated        bool     `json:"truncated"`         // there are more, or nobody could look
}

// MaxMatches bounds the files listed for one pattern.
const MaxMatches = 32

// Resolver resolves the paths of one call. Cwd and Roots are absolute with
// links resolved; Home may be empty, then ~ is outside.
type Resolver struct {
	Cwd       string
	Roots     []string
	Home      string
	Protected []string // further absolute files or folders nobody may write
}

// Resolve says where raw leads. A path with blanks around it is looked at
// both ways, because the CLI trims it and a shell does not.
func (r Resolver) Resolve(raw string, mode Mode) Path {
	p := Path{Raw: raw, Mode: mode}
	spellings := []string{trim(raw)}
	if spellings[0] != raw {
		spellings = append(spellings, raw)
	}
	p.Resolved = !ambiguous(raw)
	p.Inside = p.Resolved
	for i, s := range spellings {
		r.look(&p, s, i == 0)
	}
	if !p.Inside {
		p.Root = ""
	}
	return p
}

// look adds one spelling's facts. The kernel follows a link before it takes
// "..", Node cleans first; both readings must stay inside.
func (r Resolver) look(p *Path, s string, first bool) {
	joined, ok := r.join(s)
	if !ok {
		p.Inside, p.Resolved = false, false
		r.protect(p, filepath.Clean(string(filepath.Separator)+s)) // its names still tell
		return
	}
	abs := filepath.Clean(joined)
	if first {
		p.Abs = abs
	}
	r.protect(p, abs)
	p.Inside = p.Inside && r.root(abs) != ""
	readings := []string{abs, joined}
	if abs == joined {
		readings = readings[:1]
	}
	for i, spelling := range readings {
		t, err := follow(spelling)
		if err != nil {
			p.Inside, p.Resolved = false, false
			continue
		}
		if first && i == 0 {
			p.Real, p.Exists, p.Symlink, p.Root = t.real, t.exists, t.links > 0, r.root(t.real)
		}
		p.Inside = p.Inside && r.root(t.real) != ""
		if t.real != abs {
			r.protect(p, t.real)
		}
	}
}

// join makes s absolute without cleaning it.
func (r Resolver) join(s string) (string, bool) {
	switch {
	case strings.ContainsRune(s, 0):
		return "", false
	case s == "~" || strings.HasPrefix(s, "~/"):
		return r.Home + s[1:], r.Home != ""
	case strings.HasPrefix(s, "~"):
		return "", false // another account's home, or a shell's own spelling
	case filepath.IsAbs(s):
		return s, true
	case filepath.VolumeName(s) != "" || !filepath.IsAbs(r.Cwd):
		return "", false // C:x is relative to a folder we do not know
	}
	return r.Cwd + string(filepath.Separator) + s, true
}

func (r Resolver) root(abs string) string {
	for _, root := range r.Roots {
		if Within(root, abs) {
			return root
		}
	}
	return ""
}

func (r Resolver) protect(p *Path, abs string) {
	if by := r.protection(abs, p.Mode); by != "" && !p.Protected {
		p.Protected, p.ProtectedBy = true, by
	}
	if by := sensitivity(abs, p.Mode); by != "" && !p.Sensitive {
		p.Sensitive, p.SensitiveBy = true, by
	}
	for _, top := range append([]string{r.Cwd, r.Home}, r.Roots...) {
		p.IsRoot = p.IsRoot || (top != "" && Within(abs, top))
	}
	p.IsRoot = p.IsRoot || abs == filepath.Dir(abs)
}

// Within reports whether path is root or below it, by path segment. Both must
// be absolute and clean; a relative or empty one is not within anything.
func Within(root, path string) bool {
	if !filepath.IsAbs(root) || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// trim removes what the CLI's own trim removes.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

// ambiguous reports text whose Unicode normal form may name another file: the
// CLI normalises paths, and a link may lie under the normalised name.
func ambiguous(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		switch {
		case r < 0x300:
			return r < 0x20 || r == 0x7f
		case r == unicode.ReplacementChar || unicode.Is(unicode.M, r) || unicode.Is(unicode.Cf, r):
			return true
		case r >= 0x1100 && r <= 0x11FF, r >= 0x1F00 && r <= 0x206F, r >= 0x2100 && r <= 0x214F:
			return true
		case r >= 0xF900 && r <= 0xFAFF, r >= 0x2F800 && r <= 0x2FA1F:
			return true
		}
		return r == 0x374 || r == 0x37E || r == 0x387 || r == 0x2329 || r == 0x232A
	})
}
