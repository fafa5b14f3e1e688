package facts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// unpacked adds the folder that an archive is unpacked into, where that holds
// what may not be written over, or where nobody can tell.
func (l *looker) unpacked(c *Command, prefix string, paths []Path) []Path {
	option, unpacks := unpacking(c)
	if !unpacks {
		return paths
	}
	l.r.Cwd = c.Cwd.Value
	p := Path{Raw: computed, Mode: Write, Sensitive: true, SensitiveBy: "archive"}
	at := -1
	for i := range c.Args {
		v := c.Args[i].Value
		switch {
		case option != "" && v == option && i+1 < len(c.Args), strings.HasPrefix(v, "--directory") && !strings.Contains(v, "=") && i+1 < len(c.Args):
			at = i + 1
		case option != "" && strings.HasPrefix(v, option) && len(v) > len(option), strings.HasPrefix(v, "--directory="):
			at = i
		}
	}
	switch {
	case at >= 0 && c.Args[at].Static:
		shell := l.r.Cwd
		if known := l.of(c.at); known.Known {
			l.r.Cwd = known.Value
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(c.Args[at].Value, "--directory="), option)
		p = l.look(dir, c.Args[at].Tilde, Write)
		l.r.Cwd = shell
	case at < 0 && c.Cwd.Known:
		p = l.look(".", false, Write)
	}
	holds := unguarded
	if p.Resolved {
		holds = l.guarded(p.Real)
	}
	switch {
	case holds == unguarded && p.Inside && !p.Protected && !p.Sensitive:
		return paths
	case holds == mayNotBeWritten || p.Sensitive: // whichever files it writes over, nobody allowed that
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	if holds != unguarded && !p.Sensitive {
		p.Sensitive, p.SensitiveBy = true, "archive"
	}
	p.Arg = prefix + "/args/" + strconv.Itoa(max(at, 0))
	return append(paths, p)
}

// held is what a folder holds for which writing over matters.
type held int

const (
	unguarded       held = iota
	deservesALook        // what deserves a look when written, or nobody can tell
	mayNotBeWritten      // what may not be written
)

// guarded says what a folder holds.
func (l *looker) guarded(dir string) held {
	entries, err := readFolder(dir, maxUnpackNames+1)
	if errors.Is(err, fs.ErrNotExist) {
		return unguarded
	}
	worst := unguarded
	if err != nil || len(entries) > maxUnpackNames {
		worst = deservesALook
	}
	for _, e := range entries {
		switch v := l.r.places.judge(filepath.Join(dir, e.Name())); {
		case v.protection(Write) != "":
			return mayNotBeWritten
		case v != (verdict{}):
			worst = deservesALook
		}
	}
	return worst
}

// before is what stands before the first of the letters of end.
func before(text, end string) string {
	text, _, _ = strings.Cut(text, end)
	return text
}

// unpacking reports a command that unpacks an archive, and its option for the
// folder it unpacks into.
func unpacking(c *Command) (option string, unpacks bool) {
	name := c.Name.Basename
	switch name {
	case "tar", "bsdtar", "gtar":
		for i, a := range c.Args {
			long := strings.HasPrefix(a.Value, "--")
			switch {
			case long && len(a.Value) > 3 && (strings.HasPrefix("--extract", a.Value) || strings.HasPrefix("--get", a.Value)):
				return "-C", true
			case !long && (a.Flag || i == 0) && strings.Contains(a.Value, "x"):
				return "-C", true
			}
		}
	case "unzip":
		return "-d", !slices.ContainsFunc(c.Args, func(a Word) bool { return a.Flag && strings.ContainsAny(before(a.Value, "d"), "ltvZpc") })
	case "cpio", "bsdcpio", "pax":
		return "-D", !slices.ContainsFunc(c.Args, func(a Word) bool { return a.Value == "-o" || a.Value == "--create" || a.Value == "-w" })
	case "7z", "7za", "7zr", "unrar", "jar", "ar":
		return "", len(c.Args) > 0 && strings.Contains(c.Args[0].Value, "x")
	}
	return "", false
}
