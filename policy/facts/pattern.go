package facts

import (
	"slices"
	"strings"
)

// style says how a program reads a pattern.
type style struct {
	hidden   bool // a star meets names that begin with a dot
	anywhere bool // a pattern without a slash holds in every folder below
	exact    bool // what is met is what is used: all of it must be known to be inside
}

var (
	shellStyle  = style{exact: true}
	searchStyle = style{hidden: true, anywhere: true}
)

// Pattern says what an unquoted word of a shell text may meet: where its fixed
// beginning leads, what it meets now, and whether a secret is among that. It
// is inside when the beginning is and everything it meets, all of which was
// looked at. A star meets no hidden name, as in a shell without dotglob. A
// word without *, ? and [ costs nothing beyond Resolve; braces are expanded.
func (r Resolver) Pattern(word string, mode Mode) Path {
	r = r.ready()
	p := r.meet([]string{word}, mode, shellStyle)
	p.Raw, p.Glob.Pattern = word, word
	if by := expandsTo(word); by != "" {
		p.Glob.MatchesProtected = true
		if !p.Protected {
			p.Protected, p.ProtectedBy = true, by
		}
	}
	return p
}

// meet looks at every spelling of some words together.
func (r Resolver) meet(words []string, mode Mode, how style) Path {
	l := lister{r: r, mode: mode, style: how}
	var p Path
	for i, word := range words {
		if l.r.memory.spellings > maxSpellings {
			break // said by the one before
		}
		all, complete := plainBraces(word)
		l.unknown = l.unknown || !complete
		l.spelled = l.spelled || !complete
		for j, one := range all {
			q := l.look(one)
			if i == 0 && j == 0 {
				p = q
			} else {
				p.join(q)
			}
		}
	}
	l.finish(&p)
	return p
}

// plainBraces expands braces and drops the spellings that still hold some.
func plainBraces(word string) ([]string, bool) {
	if strings.IndexByte(word, '{') < 0 {
		return []string{word}, true
	}
	all, complete := braces(word)
	return slices.DeleteFunc(all, func(s string) bool {
		open, shut := innerBraces(s)
		return open >= 0 && (strings.Contains(s[open:shut], ",") || strings.Contains(s[open:shut], ".."))
	}), complete
}

// join adds what is known of another spelling: doubts and bans add up.
func (p *Path) join(q Path) {
	p.Inside, p.Resolved = p.Inside && q.Inside, p.Resolved && q.Resolved
	p.Exists, p.Symlink, p.Hardlink, p.IsRoot = p.Exists || q.Exists, p.Symlink || q.Symlink, p.Hardlink || q.Hardlink, p.IsRoot || q.IsRoot
	p.IsDir = p.IsDir || q.IsDir
	if q.Protected && !p.Protected {
		p.Protected, p.ProtectedBy = true, q.ProtectedBy
	}
	if q.Sensitive && !p.Sensitive {
		p.Sensitive, p.SensitiveBy = true, q.SensitiveBy
	}
	if len(q.Flags) > 0 && !slices.Equal(p.Flags, q.Flags) {
		p.Flags = slices.Concat(p.Flags, q.Flags)
		slices.Sort(p.Flags)
		p.Flags = slices.Compact(p.Flags)
	}
}

// fixedPart splits a pattern before its first segment with magic.
func fixedPart(pattern string) (fixed, rest string) {
	at := strings.IndexAny(pattern, "*?[")
	if at < 0 {
		return pattern, ""
	}
	at = strings.LastIndexByte(pattern[:at], '/') + 1
	return pattern[:at], pattern[at:]
}

// everything reports a pattern that leaves nothing of its folder.
func everything(rest string) bool { return rest != "" && strings.Trim(rest, "*?./") == "" }
