package facts

import (
	"fmt"
	"slices"
	"strings"
)

// writers are programs that change what their arguments name: every one, or
// only the last.
var (
	writers     = []string{"tee", "touch", "mkdir", "rm", "rmdir", "unlink", "shred", "truncate", "chmod", "chown", "chgrp", "mv", "mkfifo", "mknod"}
	lastWriters = []string{"cp", "ln", "install", "rsync", "scp"}
	speakers    = []string{"echo", "printf"} // their arguments are text

	// onlyRead never change what their arguments name. git is here because its
	// words are mostly no files; what it may do is told by [Git].
	onlyRead = []string{"cat", "ls", "head", "tail", "less", "more", "wc", "grep", "egrep", "fgrep", "rg", "diff", "cmp", "stat", "file",
		"du", "jq", "find", "fd", "tree", "test", "[", "cd", "basename", "dirname", "readlink", "realpath", "sha256sum", "md5sum", "cut", "git"}
)

// computed stands for a written path of which nothing is known before it runs.
const computed = "(computed)"

// Shell analyses a shell text and resolves the paths in it. After a change of
// folder a relative path is known to be nowhere, so it is not inside.
func (r Resolver) Shell(text string) (Shell, []Path) {
	s := Analyse(text)
	if s.Features.Chdir || slices.ContainsFunc(s.Commands, func(c Command) bool { return slices.Contains(c.Via, "env") || slices.Contains(c.Via, "chroot") }) {
		r.Cwd = ""
	}
	paths := []Path{}
	for i := range s.Commands {
		c := &s.Commands[i]
		for j := range c.Args {
			a := &c.Args[j]
			if a.Path = named(r.argument(*c, j)); a.Path != nil {
				a.Path.Arg = fmt.Sprintf("/command#%d/args/%d", i, j)
				paths = append(paths, *a.Path)
			}
		}
		for j := range c.Redirects {
			d := &c.Redirects[j]
			if d.Path = named(r.redirect(*d)); d.Path != nil {
				d.Path.Arg = fmt.Sprintf("/command#%d/redirects/%d", i, j)
				paths = append(paths, *d.Path)
			}
		}
	}
	r.repository(s)
	return s, append(paths, r.assignments(s)...)
}

// repository completes what git may start with what the repository names.
func (r Resolver) repository(s Shell) {
	looked, runs := false, true
	for _, c := range s.Commands {
		if c.Git == nil {
			continue
		}
		if !looked {
			looked, runs = true, r.Cwd == "" || GitRunsPrograms(r.Cwd)
		}
		c.Git.RunsProgram = runs
	}
}

// named drops the zero Path of a word that names none.
func named(p Path) *Path {
	if p.Raw == "" {
		return nil
	}
	return &p
}

// assignments returns the secrets named by values that the text assigns, since
// a variable may carry them to any command.
func (r Resolver) assignments(s Shell) []Path {
	var secret []Path
	for _, a := range s.assigned {
		for _, v := range parts(a.Value) {
			if p := r.resolve(v, a.Tilde, Read); p.Protected {
				p.Arg = "/command"
				secret = append(secret, p)
				break
			}
		}
	}
	return secret
}

// argument resolves the path an argument names, if any.
func (r Resolver) argument(c Command, at int) Path {
	a := c.Args[at]
	out, writes := r.output(c, at)
	if out.Protected {
		return out
	}
	mode := Read
	if slices.Contains(writers, c.Name.Basename) || slices.Contains(lastWriters, c.Name.Basename) && at == len(c.Args)-1 {
		mode = Write
	}
	switch {
	case slices.Contains(speakers, c.Name.Basename):
		return Path{}
	case a.Value == "" && writes:
		return out
	case a.Value == "" && !a.Static && mode == Write:
		return Path{Raw: computed, Mode: mode}
	case a.Value == "":
		return Path{}
	}
	option := strings.HasPrefix(a.Value, "-")
	if c.Name.Basename == "dd" && strings.HasPrefix(a.Value, "of=") {
		mode = Write
	}
	for _, other := range parts(a.Value) {
		if p := r.resolve(other, a.Tilde, mode); p.Protected {
			return p
		}
	}
	if !slices.Contains(onlyRead, c.Name.Basename) { // an unknown program may write
		for _, other := range parts(a.Value) {
			if p := r.resolve(other, a.Tilde, Write); p.Protected {
				return p
			}
		}
	}
	if !a.Static {
		if by := expandsTo(a.Value); by != "" {
			return Path{Raw: a.Value, Mode: mode, Protected: true, ProtectedBy: by}
		}
	}
	if writes { // the readings above found no secret
		return out
	}
	if _, value, found := strings.Cut(a.Value, "="); found && (option || c.Name.Basename == "dd") {
		return r.resolve(value, false, mode)
	}
	if option {
		return Path{}
	}
	p := r.resolve(a.Value, a.Tilde, mode)
	if !a.Static {
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	return p
}

// parts lists what within a word may name a file: the value of an option, of
// an assignment, of @file and of a git revision's rev:path.
func parts(v string) []string {
	all := []string{v, strings.TrimPrefix(v, "@")}
	if _, after, found := strings.Cut(v, "="); found {
		all = append(all, after, strings.TrimPrefix(after, "@"))
	}
	if i := strings.LastIndex(v, ":"); i >= 0 {
		all = append(all, v[i+1:])
	}
	if strings.HasPrefix(v, "-") && len(v) > 2 {
		all = append(all, v[2:], strings.TrimPrefix(v[2:], "@"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r Resolver) redirect(d Redirect) Path {
	mode := Read
	if d.Writes {
		mode = Write
	}
	if d.Target == "" && !d.Static && d.Writes {
		return Path{Raw: computed, Mode: mode}
	}
	if d.Target == "" || d.Op == ">&" && !d.Writes || d.Op == "<&" && !d.Writes {
		return Path{}
	}
	if slices.Contains(devices, d.Target) {
		return Path{}
	}
	p := r.resolve(d.Target, d.tilde, mode)
	if !d.Static {
		p.Inside, p.Resolved, p.Root = false, false, ""
	}
	return p
}

// resolve keeps a quoted ~ from meaning the home folder.
func (r Resolver) resolve(v string, tilde bool, mode Mode) Path {
	raw := v
	if strings.HasPrefix(v, "~") && !tilde {
		v = "./" + v
	}
	p := r.Resolve(v, mode)
	p.Raw = raw
	return p
}
