package facts

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// look resolves one spelling's fixed beginning and lists what it meets.
func (l *lister) look(pattern string) Path {
	if l.r.memory.spellings++; l.r.memory.spellings > maxSpellings {
		l.unknown, l.spelled = true, true
		return Path{Mode: l.mode}
	}
	fixed, rest := fixedPart(pattern)
	start := fixed
	if start == "" {
		start = "."
	}
	p := l.r.Resolve(start, l.mode)
	switch {
	case rest == "" && l.style.anywhere && !strings.Contains(fixed, "/"):
		l.more = true // a plain name in any folder: not worth a search
		l.plain(p)
		return p
	case rest == "":
		l.plain(p)
		return p
	}
	p.IsRoot, p.IsDir = p.IsRoot && everything(rest), false
	if climbs(rest) || strings.IndexByte(rest, '\\') >= 0 && l.style.anywhere {
		p.Inside, p.Resolved, l.unknown = false, false, true
		return p
	}
	segs := segments(rest)
	if l.style.anywhere && !strings.Contains(pattern, "/") {
		segs = append([]string{"**"}, segs...)
	}
	if !p.Resolved || !l.list(p.Real, segs) {
		l.unknown = true
		l.spelled = l.spelled || rows.mayName(p.Abs, segs, l.mode)
	}
	return p
}

// plain takes a spelling without magic, which meets itself.
func (l *lister) plain(p Path) {
	if p.Exists && len(l.matches) < MaxMatches {
		l.matches = append(l.matches, p.Abs)
	}
	l.spelled = l.spelled || p.Protected
}

// add takes one file that is met.
func (l *lister) add(rel, name string, kind fs.FileMode) {
	abs := filepath.Join(l.base, rel, name)
	if len(l.matches) >= MaxMatches {
		l.more = true
		l.unknown = l.unknown || kind&fs.ModeSymlink != 0
		q := Path{Mode: l.mode, Inside: true, Resolved: true}
		v := l.r.places.judge(abs)
		v.apply(&q)
		l.meets(abs, q)
		return
	}
	l.matches = append(l.matches, abs)
	q := Path{Mode: l.mode, Inside: true, Resolved: true}
	l.r.reading(&q, abs, false)
	l.meets(abs, q)
}

func (l *lister) meets(abs string, q Path) {
	if q.Protected && l.secret == "" {
		l.secret = abs
	}
	if l.met == nil {
		l.met = &q
		return
	}
	l.met.join(q)
}

// finish tells what was met.
func (l *lister) finish(p *Path) {
	slices.Sort(l.matches)
	g := &Glob{Matches: slices.Compact(l.matches), Protected: l.secret, Truncated: l.more || l.unknown}
	g.MatchesProtected = l.spelled || p.Protected || l.met != nil && l.met.Protected
	p.Glob = g
	if !l.style.exact {
		return
	}
	if l.met != nil {
		exists := p.Exists
		p.join(*l.met)
		p.Exists = exists
	}
	if g.Truncated {
		p.Inside, p.Resolved = false, false
	}
	if l.spelled && !p.Protected {
		p.Protected, p.ProtectedBy = true, "pattern"
	}
	if !p.Inside {
		p.Root = ""
	}
}
