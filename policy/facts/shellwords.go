package facts

import (
	"slices"
	"strings"
)

// argument resolves the path an argument names, if any. dashes means that a
// "--" stands before it.
func (l *looker) argument(c *Command, at int, dashes bool) Path {
	a := &c.Args[at]
	name := c.Name.Basename
	if speakers[name] {
		return Path{}
	}
	out, writes := l.output(c, at)
	if out.Protected {
		return out
	}
	mode := modeOf(c, at)
	switch {
	case a.Value == "" && writes:
		return out
	case a.Value == "" && !a.Static && mode == Write:
		return Path{Raw: computed, Mode: mode}
	case a.Value == "":
		return Path{}
	}
	found := l.readings(c, a, mode, a.Flag && !dashes)
	switch {
	case found.Protected:
		return found
	case writes: // the readings above found no secret
		return out
	case c.Git != nil && mode == Write && !found.Exists: // a branch, a revision
		found.Mode = Read
	}
	return found
}

// readings resolves every spelling of a file within a word. It returns the
// first protected one, else the one the word plainly names, if any.
func (l *looker) readings(c *Command, a *Word, mode Mode, option bool) Path {
	main, named := a.Value, !option
	if _, value, found := strings.Cut(a.Value, "="); found && (option || c.Name.Basename == "dd") {
		main, named = value, value != ""
	}
	unknown := !onlyRead[c.Name.Basename]
	var result Path
	for _, other := range parts(a.Value, option) {
		if other == "" {
			continue
		}
		p := l.lookAs(other, a.Tilde, mode, unknown)
		if p.Protected {
			return p
		}
		if named && other == main {
			result = p
		}
	}
	if a.Static {
		return result
	}
	return l.uncertain(a, mode, unknown, main, result)
}

// uncertain looks at a word of which the shell makes something else.
func (l *looker) uncertain(a *Word, mode Mode, unknown bool, main string, plain Path) Path {
	if (a.Glob || a.Brace) && !a.unknown && main == a.Value {
		return l.pattern(a.Value, a.Tilde, mode, unknown)
	}
	if l.pay(1 + len(a.Value)/bytesPerLook) {
		if by := expandsTo(a.Value); by != "" {
			return Path{Raw: a.Value, Mode: mode, Protected: true, ProtectedBy: by}
		}
	}
	plain.Inside, plain.Resolved, plain.Root = false, false, ""
	return plain
}

// parts lists what within a word may name a file: the value of an option, of
// an assignment, of @file and of a git revision's rev:path.
func parts(v string, option bool) []string {
	if !option && !strings.ContainsAny(v, "@=:") && v[:min(1, len(v))] != "-" {
		return []string{v}
	}
	all := make([]string, 0, 8)
	add := func(part string) {
		for _, p := range []string{strings.TrimPrefix(part, "@"), part} {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	if !option {
		add(v)
	}
	if _, after, found := strings.Cut(v, "="); found {
		add(after)
	}
	if i := strings.LastIndexByte(v, ':'); i >= 0 {
		add(v[i+1:])
	}
	if strings.HasPrefix(v, "-") && len(v) > 2 {
		add(v[2:])
		for i := 3; v[1] != '-' && i < len(v) && i < maxBundle && letter(v[i-1]); i++ { // letters before the one that takes a value
			add(v[i:])
		}
	}
	return all
}

// maxBundle bounds the letters before the one whose value is attached.
const maxBundle = 10

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

func (l *looker) redirect(d *Redirect) Path {
	mode := Read
	if d.Writes {
		mode = Write
	}
	switch {
	case d.Target == "" && !d.Static && d.Writes:
		return Path{Raw: computed, Mode: mode}
	case d.Target == "", !d.Writes && (d.Op == ">&" || d.Op == "<&"), devices[d.Target]:
		return Path{}
	}
	p := l.look(d.Target, d.tilde, mode)
	if !d.Static && !p.Protected {
		if by := expandsTo(d.Target); by != "" {
			p.Protected, p.ProtectedBy = true, by
		}
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	return p
}
