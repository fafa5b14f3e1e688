package facts

import "strings"

// Git is what is known about a git command.
type Git struct {
	Subcommand  string   `json:"subcommand" doc:"as written; empty when there is none or it is only known at run time"`
	Globals     []string `json:"globals" doc:"options before the subcommand, with their values"`
	COptions    []string `json:"c_options" doc:"keys set by -c and --config-env, letters lowered"`
	Args        []string `json:"args" doc:"words after the subcommand"`
	Paths       []Path   `json:"paths" doc:"pathspecs behind --, words that name existing files, and the path part of rev:path, which counts from the repository's top"`
	Writes      bool     `json:"writes" doc:"changes the repository, the working tree or a file; true in doubt"`
	Network     bool     `json:"network" doc:"talks to another repository; true in doubt"`
	RunsProgram bool     `json:"runs_program" doc:"may start a program named by options, by hooks or by the repository's configuration; true in doubt"`

	ProgramOption bool     `json:"program_option" doc:"an option, a -c key or the subcommand itself names a program to start, or may: whatever is allowed, nobody saw that program"`
	Known         bool     `json:"known" doc:"the subcommand is one of those whose effects are told here; false for aliases, extensions and helpers"`
	Refspecs      []string `json:"refspecs" doc:"of push: the remote, then what is pushed; options and their values left out"`

	args int // index of the first of Args in the command's words
}

// gitValued are global options whose value is the next word.
var gitValued = setOf("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source")

// gitPlain are global options that change nothing but the looks.
var gitPlain = setOf("-C", "-P", "--no-pager", "--no-optional-locks", "--no-replace-objects", "--no-lazy-fetch", "--no-advice",
	"--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--version", "-v", "--html-path", "--man-path", "--info-path")

// gitFacts reads the words of a git command. What the repository itself may
// start is added by [Resolver.Shell].
func gitFacts(c *Command) *Git {
	if c.Name.Basename != "git" {
		return nil
	}
	g := &Git{Globals: []string{}, COptions: []string{}, Args: []string{}, Paths: []Path{}, Refspecs: []string{}}
	known, i := true, 0
	for i < len(c.Args) && c.Args[i].Flag {
		known = g.global(c.Args, &i) && known
	}
	if g.args = i; i < len(c.Args) {
		if c.Args[i].Static {
			g.Subcommand = c.Args[i].Value
		}
		known = known && c.Args[i].Static
		g.args = i + 1
	}
	for _, a := range c.Args[g.args:] {
		g.Args = append(g.Args, a.Value)
	}
	g.judge(c.Args[g.args:])
	g.Known = gitKnown(g.Subcommand) || g.Subcommand == "" && !g.Writes
	g.programs(c.Args[g.args:])
	if g.Subcommand == "push" {
		g.Refspecs = refspecs(c.Args[g.args:])
	}
	if !known {
		g.Writes, g.RunsProgram = g.Writes || g.Subcommand == "", true
		g.Network = g.Network || g.Subcommand == ""
	}
	g.RunsProgram = g.RunsProgram || g.ProgramOption
	for _, v := range c.Env {
		g.RunsProgram = g.RunsProgram || steers(v.Name) || v.Name == "*"
	}
	return g
}

// global takes one option before the subcommand; it reports whether the
// option leaves alone what git starts and where.
func (g *Git) global(args []Word, i *int) (plain bool) {
	a := args[*i]
	n := 1
	if gitValued[a.Value] && *i+1 < len(args) {
		n = 2
	}
	for _, w := range args[*i : *i+n] {
		g.Globals = append(g.Globals, w.Value)
		plain = w.Static
	}
	*i += n
	switch v := a.Value; {
	case (v == "-c" || v == "--config-env") && n == 2:
		plain = g.configured(args[*i-1].Value)
		g.ProgramOption = g.ProgramOption || !args[*i-1].Static && plain && !strings.Contains(args[*i-1].Value, "=")
		return plain && args[*i-1].Static
	case strings.HasPrefix(v, "--config-env="):
		return g.configured(v[len("--config-env="):])
	case strings.HasPrefix(v, "--exec-path="):
		g.ProgramOption = true
		return false
	default:
		return plain && a.Static && gitPlain[v]
	}
}

// configured notes a key that is set for this command alone.
func (g *Git) configured(assignment string) (plain bool) {
	k, value, _ := strings.Cut(assignment, "=")
	k = strings.ToLower(k)
	g.COptions = append(g.COptions, k)
	plain = harmlessKey(k, strings.ToLower(value))
	g.ProgramOption = g.ProgramOption || !plain
	return plain
}
