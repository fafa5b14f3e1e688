package facts

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is looked at of folders that are copied, moved or unpacked into.
const (
	maxCopied       = 64 // names below a source
	maxCopiedDepth  = 2
	looksPerListing = 16  // what a listing pays for, see maxLooks
	maxUnpackNames  = 256 // names of a folder that an archive is unpacked into
)

// copiers put their sources into the folder that their last word, or the
// option -t, names. True for those that take whole folders.
var copiers = map[string]bool{"cp": true, "mv": true, "rsync": true, "scp": true, "install": false, "ln": false, "gcp": true, "gmv": true}

// copied adds the files that a copy or a move leaves in an existing folder, as
// far as they deserve attention: DIR/name of each source, and what lies below a
// source that is a folder itself.
func (l *looker) copied(c *Command, prefix string, paths []Path) []Path {
	whole, known := copiers[c.Name.Basename]
	if !known {
		return l.unpacked(c, prefix, paths)
	}
	l.r.Cwd = c.Cwd.Value
	to, sources := destination(c)
	if to < 0 || c.Args[to].Path == nil || len(sources) == 0 {
		return paths
	}
	dir := c.Args[to].Path
	if !dir.Resolved || dir.Real == "" {
		return paths // asked about as it is
	}
	for _, at := range sources {
		if l.left < 0 {
			break
		}
		for _, p := range l.lands(c, at, dir, whole) {
			p.Arg = prefix + "/args/" + strconv.Itoa(at)
			paths = append(paths, p)
		}
	}
	return paths
}

// destination returns the words that name where a copy goes and what is copied.
func destination(c *Command) (to int, sources []int) {
	to = -1
	dashes := false
	for i := 0; i < len(c.Args); i++ {
		v := c.Args[i].Value
		name, _, attached := strings.Cut(v, "=")
		switch {
		case !dashes && v == "--":
			dashes = true
		case !dashes && (v == "-t" || !attached && len(name) > 2 && strings.HasPrefix("--target-directory", name)) && i+1 < len(c.Args):
			i++
			to = i
		case !dashes && len(v) > 2 && (strings.HasPrefix(v, "-t") && c.Name.Basename != "rsync" || attached && strings.HasPrefix("--target-directory", name)):
			to = i
		case !dashes && c.Args[i].Flag && v != "-":
		default:
			sources = append(sources, i)
		}
	}
	if to < 0 && len(sources) > 1 {
		to, sources = sources[len(sources)-1], sources[:len(sources)-1]
	}
	return to, sources
}

// lands looks at what one source becomes. Only what deserves attention is
// returned.
func (l *looker) lands(c *Command, at int, dir *Path, whole bool) []Path {
	a := &c.Args[at]
	var names []string
	uncertain := false
	switch {
	case a.Static:
		names = []string{strings.TrimRight(a.Value, "/")}
	case a.Path != nil && a.Path.Glob != nil && !a.Path.Glob.Truncated:
		names = a.Path.Glob.Matches
	case dir.IsDir:
		return []Path{{Raw: computed, Mode: Write, Sensitive: true, SensitiveBy: "copy"}}
	}
	var all []Path
	for _, name := range names {
		source := a.Path
		if !a.Static || source == nil {
			p := l.look(name, a.Tilde, Read)
			source = &p
		}
		if dir.IsDir {
			all = l.attend(all, filepath.Join(dir.Real, filepath.Base(name)), name)
			if nested(c) && !filepath.IsAbs(name) {
				all = l.attend(all, filepath.Join(dir.Real, name), name)
			}
		}
		if !whole || !source.IsDir || source.Real == "" {
			continue
		}
		if !l.pay(looksPerListing) {
			return all
		}
		below, more := namesBelow(source.Real)
		for _, rel := range below {
			all = l.attend(all, filepath.Join(dir.Real, rel), filepath.Join(name, rel))
			if dir.IsDir {
				all = l.attend(all, filepath.Join(dir.Real, filepath.Base(name), rel), filepath.Join(name, rel))
			}
		}
		uncertain = uncertain || more
	}
	if uncertain && len(all) == 0 {
		all = append(all, Path{Raw: computed, Mode: Write, Abs: dir.Abs, Real: dir.Real, Inside: dir.Inside, Root: dir.Root, Resolved: dir.Resolved, Sensitive: true, SensitiveBy: "copy"})
	}
	return all[:min(len(all), maxGitPaths)]
}

// attend adds the path of what is written when it deserves attention.
func (l *looker) attend(all []Path, abs, raw string) []Path {
	if slices.ContainsFunc(all, func(p Path) bool { return p.Abs == abs }) {
		return all
	}
	v := l.r.places.judge(abs)
	if v == (verdict{}) {
		if n, err := lstat(abs); err != nil || n.mode&fs.ModeSymlink == 0 && n.nlink < 2 {
			return all // a new or a plain file
		}
	}
	p := l.look(abs, false, Write)
	if p.Raw = raw; p.Protected || p.Sensitive || !p.Inside || p.Hardlink {
		all = append(all, p)
	}
	return all
}

// nested reports options that keep the folders of a source's name.
func nested(c *Command) bool {
	return slices.ContainsFunc(c.Args, func(a Word) bool {
		return a.Flag && (strings.HasPrefix(a.Value, "--pa") || strings.HasPrefix(a.Value, "--rel") || c.Name.Basename == "rsync" && !strings.HasPrefix(a.Value, "--") && strings.Contains(a.Value, "R"))
	})
}

// namesBelow lists what lies in a folder; more says that there is more, or
// that it could not be read.
func namesBelow(dir string) (names []string, more bool) {
	var walk func(rel string, depth int)
	walk = func(rel string, depth int) {
		entries, err := readFolder(filepath.Join(dir, rel), maxCopied+1-len(names))
		more = more || err != nil
		for _, e := range entries {
			if len(names) >= maxCopied {
				more = true
				return
			}
			name := filepath.Join(rel, e.Name())
			names = append(names, name)
			switch {
			case e.IsDir() && depth < maxCopiedDepth:
				walk(name, depth+1)
			case e.IsDir():
				more = true
			}
		}
	}
	walk("", 1)
	return names, more
}

// readFolder reads at most n entries of a folder that is no link.
func readFolder(dir string, n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		return nil, nil
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|directoryOnly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
