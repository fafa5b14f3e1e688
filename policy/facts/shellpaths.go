package facts

import (
	"strconv"
	"strings"
)

// computed stands for a written path of which nothing is known before it runs.
const computed = "(computed)"

// Shell analyses a shell text and resolves the paths in it, each against the
// folder of its command: changes of folder are followed where they are plain.
// Beside the paths of words and redirections the list holds the secrets that
// are assigned to variables and programs that are protected files.
func (r Resolver) Shell(text string) (Shell, []Path) {
	s := Analyse(text)
	l := newLooker(r)
	paths := []Path{}
	for i := range s.Commands {
		paths = l.command(&s.Commands[i], i, paths)
	}
	l.r.Cwd = l.start
	paths = l.assignments(s, paths)
	if l.over() {
		s.Features.TooLong = true
		if s.OK {
			s.OK, s.Reason = false, l.reason()
		}
	}
	return s, paths
}

// command fills the paths of one command and adds them to the list.
func (l *looker) command(c *Command, at int, paths []Path) []Path {
	shell := l.of(c.at)
	c.Cwd = l.of(c.in)
	prefix := "/command#" + strconv.Itoa(at)
	for j := range c.Redirects {
		if l.left < 0 {
			break
		}
		l.r.Cwd = shell.Value
		d := &c.Redirects[j]
		if d.Path = named(l.redirect(d)); d.Path != nil {
			d.Path.Arg = prefix + "/redirects/" + strconv.Itoa(j)
		}
	}
	dashes := false
	for j := range c.Args {
		if l.left < 0 || c.own > 0 && j >= c.own-1 {
			break // beyond the bound the text is not OK
		}
		l.r.Cwd = c.Cwd.Value
		if c.moved == j && j > 0 {
			l.r.Cwd = shell.Value
		}
		a := &c.Args[j]
		if a.Path = named(l.argument(c, j, dashes)); a.Path != nil {
			if c.roams {
				a.Path.Inside, a.Path.Resolved, a.Path.Root = false, false, ""
			}
			a.Path.Arg = prefix + "/args/" + strconv.Itoa(j)
			paths = append(paths, *a.Path)
		}
		dashes = dashes || a.Static && a.Value == "--"
	}
	for j := range c.Redirects {
		if c.Redirects[j].Path != nil {
			paths = append(paths, *c.Redirects[j].Path)
		}
	}
	if l.left >= 0 {
		paths = l.copied(c, prefix, paths)
	}
	return l.started(c, prefix, paths)
}

// started resolves the program's own file and what git looks at.
func (l *looker) started(c *Command, prefix string, paths []Path) []Path {
	if strings.Contains(c.Name.Value, "/") {
		l.r.Cwd = l.of(c.at).Value
		p := l.look(c.Name.Value, c.Name.tilde, Read)
		if !c.Name.Static {
			p.Inside, p.Resolved, p.Root = false, false, ""
		}
		p.Arg = prefix + "/name"
		c.Name.Path = &p
		if p.Protected {
			paths = append(paths, p)
		}
	}
	if c.Git == nil {
		return paths
	}
	repo := repository{runs: true}
	if c.Cwd.Known {
		repo = l.repository(c.Cwd.Value)
	}
	if g := c.Git; !g.RunsProgram {
		g.RunsProgram = repo.runs || (g.Writes || g.Network) && repo.hooked()
	}
	return l.pathspecs(c, repo, prefix, paths)
}

// named drops the zero Path of a word that names none.
func named(p Path) *Path {
	if p.Raw == "" {
		return nil
	}
	return &p
}

// assignments adds the secrets named by values that the text assigns, since
// a variable may carry them to any command.
func (l *looker) assignments(s Shell, paths []Path) []Path {
	for _, a := range s.assigned {
		for _, v := range parts(a.Value, false) {
			if v == "" {
				continue
			}
			if p := l.look(v, a.Tilde, Read); p.Protected {
				p.Arg = "/command"
				paths = append(paths, p)
				break
			}
		}
	}
	return paths
}
