package facts

import (
	"strconv"
	"strings"
)

// maxGitPaths bounds the paths reported for one git command.
const maxGitPaths = 64

// pathspecs resolves what the words after a git subcommand name. Words are in
// the flat list already; only a protected reading of its own is added.
func (l *looker) pathspecs(c *Command, repo repository, prefix string, paths []Path) []Path {
	g := c.Git
	paths = l.gitWrites(c, prefix, paths)
	dashes := false
	for i := g.args; i < len(c.Args) && len(g.Paths) < maxGitPaths; i++ {
		a := &c.Args[i]
		if a.Static && a.Value == "--" && !dashes {
			dashes = true
			continue
		}
		p, ok := l.pathspec(c, a, repo, dashes)
		if !ok {
			continue
		}
		p.Arg = prefix + "/args/" + strconv.Itoa(i)
		g.Paths = append(g.Paths, p)
		if p.Protected && (a.Path == nil || !a.Path.Protected) {
			paths = append(paths, p)
		}
	}
	return paths
}

// gitWrites resolves what a writing command names beside pathspecs.
func (l *looker) gitWrites(c *Command, prefix string, paths []Path) []Path {
	written := gitWritten(c)
	for _, w := range written[:min(len(written), maxGitWrites)] {
		a := &c.Args[w.arg]
		l.r.Cwd = c.Cwd.Value
		if w.from {
			l.r.Cwd = l.of(c.at).Value
		}
		var p Path
		switch {
		case w.text == "" && a.Static:
			continue
		case w.text == "":
			p = Path{Raw: computed, Mode: Write}
		default:
			p = l.look(w.text, w.tilde, Write)
		}
		if !a.Static && !a.Tilde {
			p.Inside, p.Resolved, p.Root = false, false, ""
		}
		p.Arg = prefix + "/args/" + strconv.Itoa(w.arg)
		if a.Path == nil || !a.Path.Protected {
			a.Path = &p
		}
		c.Git.Paths = append(c.Git.Paths, p)
		paths = append(paths, p)
	}
	return paths
}

// pathspec resolves one word; ok is false when it names no path.
func (l *looker) pathspec(c *Command, a *Word, repo repository, dashes bool) (p Path, ok bool) {
	mode := Read
	if gitTreeWriters[c.Git.Subcommand] {
		mode = Write
	}
	l.r.Cwd = c.Cwd.Value
	v := a.Value
	rev, path, cut := strings.Cut(v, ":")
	switch {
	case !a.Static && (dashes || v != ""):
		if !dashes && (a.Path == nil || !a.Path.Exists) {
			return Path{}, false
		}
		return unsure(v, mode, a.Path), true
	case v == "" || !dashes && a.Flag:
		return Path{}, false
	case strings.HasPrefix(v, ":") && (dashes || !cut || !plainStage(v)): // :/x, :(top)x, :!x
		return unsure(v, mode, a.Path), true
	case !dashes && cut && path != "":
		if repo.top != "" && !strings.HasPrefix(path, ".") {
			l.r.Cwd = repo.top
		}
		if rev == "" { // :N:path of the index
			path = path[strings.IndexByte(path, ':')+1:]
		}
		p = l.look(path, false, mode)
		p.Raw = v
		return p, true
	case dashes && magic(v):
		return unsure(v, mode, a.Path), true
	}
	if a.Path != nil && a.Path.Raw == v && a.Path.Mode == mode {
		p = *a.Path
	} else {
		p = l.look(v, a.Tilde, mode)
	}
	return p, dashes || p.Exists
}

// plainStage reports :path and :N:path, which name a file of the index.
func plainStage(v string) bool {
	return len(v) > 1 && (v[1] == '.' || v[1] == '_' || v[1] >= '0' && v[1] <= '9' || v[1]|0x20 >= 'a' && v[1]|0x20 <= 'z')
}

// unsure is a pathspec that only git can expand.
func unsure(raw string, mode Mode, seen *Path) Path {
	p := Path{Raw: raw, Mode: mode}
	if raw == "" {
		p.Raw = computed
	}
	if seen != nil {
		p.Protected, p.ProtectedBy = seen.Protected, seen.ProtectedBy
	}
	if by := expandsTo(strings.TrimLeft(raw, ":!^/")); by != "" && !p.Protected {
		p.Protected, p.ProtectedBy = true, by
	}
	return p
}
