package facts

import (
	"regexp"
	"slices"
	"strings"
)

// wrappers start the command in their arguments. The value lists options that
// take an argument of their own. Only "plain" ones leave it unchanged.
var wrappers = map[string]struct {
	valued []string
	plain  bool
	skip   int // words before the command besides options
}{
	"env":     {valued: []string{"-u", "--unset", "-C", "--chdir", "-P"}},
	"timeout": {valued: []string{"-k", "--kill-after", "-s", "--signal"}, plain: true, skip: 1},
	"nice":    {valued: []string{"-n", "--adjustment"}, plain: true},
	"ionice":  {valued: []string{"-c", "-n", "-p"}, plain: true},
	"nohup":   {plain: true},
	"setsid":  {},
	"stdbuf":  {valued: []string{"-i", "-o", "-e"}, plain: true},
	"time":    {valued: []string{"-f", "-o"}},
	"command": {},
	"builtin": {},
	"exec":    {valued: []string{"-a"}},
	"sudo":    {valued: []string{"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"}},
	"doas":    {valued: []string{"-u", "-C"}},
	"pkexec":  {valued: []string{"--user"}},
	"chroot":  {skip: 1},
	"nsenter": {valued: []string{"-t", "-S", "-G"}},
	"unshare": {},
	"busybox": {},
	"strace":  {valued: []string{"-o", "-e", "-p"}},
	"xargs":   {valued: []string{"-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--delimiter", "--replace"}},
}

var (
	shells       = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh"}
	interpreters = regexp.MustCompile(`^(python|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|osascript|awk|gawk|mawk|nawk)[0-9.]*$`)
	evaluators   = []string{"eval", "trap", "parallel", "ssh", "su", "script", "expect", "at", "batch", "flock", "tmux", "screen", "runuser", "entr", "watch"}
)

// unwrap looks behind a command that starts another one. The returned
// function records what was found; it runs after the command itself is recorded.
func (w *walker) unwrap(c *Command) func() {
	name := c.Name.Basename
	switch {
	case name == "source" || name == ".":
		w.Features.Source = true
		w.doubt("reads another script")
	case name == "alias" || name == "enable" || name == "hash" || name == "complete" || name == "set" || name == "shopt":
		w.Features.Alias = name == "alias" || w.Features.Alias
		w.doubt("changes what later commands mean")
	case name == "cd" || name == "pushd" || name == "popd" || name == "chdir":
		w.Features.Chdir = true
	case slices.Contains(shells, name):
		return w.shell(c)
	case slices.Contains(evaluators, name):
		return w.evaluated(c)
	case name == "find" || name == "fd" || name == "fdfind":
		return w.found(c)
	case name == "rg" && slices.ContainsFunc(c.Args, func(a Word) bool { return strings.HasPrefix(a.Value, "--pre") }):
		w.doubt("rg --pre starts another program")
	case interpreters.MatchString(name):
		w.interpreted(c)
	}
	if row, ok := wrappers[name]; ok {
		c.Wrapper = row.plain
		return w.behind(c, row.valued, row.skip)
	}
	return func() {}
}

// behind finds the command among a wrapper's arguments.
func (w *walker) behind(c *Command, valued []string, skip int) func() {
	rest := c.Args
	for len(rest) > 0 {
		v := rest[0].Value
		switch {
		case v == "-S" || strings.HasPrefix(v, "--split-string") || strings.HasPrefix(v, "-S"):
			if c.Name.Basename == "env" {
				w.doubt("env -S splits text into a command")
			}
			rest = rest[1:]
		case slices.Contains(valued, v) && len(rest) > 1:
			rest = rest[2:]
		case strings.HasPrefix(v, "-") && len(v) > 1:
			rest = rest[1:]
		case c.Name.Basename == "env" && strings.Contains(v, "="):
			if n, _, _ := strings.Cut(v, "="); steers(n) {
				w.doubt("sets " + n)
			}
			rest = rest[1:]
		case skip > 0:
			skip--
			rest = rest[1:]
		default:
			return w.inner(c, rest)
		}
	}
	return func() {}
}

func (w *walker) inner(c *Command, words []Word) func() {
	via := append(slices.Clone(c.Via), c.Name.Basename)
	if len(via) > maxShellDepth {
		w.Features.TooDeep = true
		w.doubt("nested too deeply")
		return func() {}
	}
	if c.Name.Basename == "xargs" {
		words = append(slices.Clone(words), Word{}) // what it reads is not known
	}
	return func() { w.command(Command{Via: via, InSubstitution: w.sub}, words) }
}

// shell looks into sh -c TEXT. A shell that reads its standard input runs what nobody saw.
func (w *walker) shell(c *Command) func() {
	for i, a := range c.Args {
		v := a.Value
		switch {
		case strings.HasPrefix(v, "-") && !strings.HasPrefix(v, "--") && strings.Contains(v, "c"):
			w.Features.Inline = true
			if i+1 < len(c.Args) && c.Args[i+1].Static {
				return w.text(c, c.Args[i+1].Value)
			}
			w.doubt("hands a shell text that is only known at run time")
			return func() {}
		case strings.HasPrefix(v, "-"):
		default:
			w.doubt("runs a script with " + c.Name.Basename)
			return func() {}
		}
	}
	w.doubt(c.Name.Basename + " reads commands from its input")
	return func() {}
}

// text analyses a nested shell text.
func (w *walker) text(c *Command, text string) func() {
	via := append(slices.Clone(c.Via), c.Name.Basename)
	return func() { w.parse(text, via, w.depth+1, w.sub) }
}

// evaluated looks into commands that evaluate their arguments as shell text.
func (w *walker) evaluated(c *Command) func() {
	w.Features.Eval = true
	w.doubt(c.Name.Basename + " evaluates its arguments")
	var parts []string
	for _, a := range c.Args {
		if a.Static && (c.Name.Basename == "eval" || !strings.HasPrefix(a.Value, "-")) {
			parts = append(parts, a.Value)
		}
	}
	if c.Name.Basename == "trap" && len(parts) > 1 {
		parts = parts[:1]
	}
	if c.Name.Basename == "ssh" || c.Name.Basename == "su" || c.Name.Basename == "runuser" {
		parts = parts[min(1, len(parts)):]
	}
	return w.text(c, strings.Join(parts, " "))
}

// found looks for -exec and its relatives.
func (w *walker) found(c *Command) func() {
	for i, a := range c.Args {
		switch a.Value {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			if i+1 < len(c.Args) {
				return w.inner(c, append(slices.Clone(c.Args[i+1:]), Word{}))
			}
		}
	}
	return func() {}
}

// interpreted doubts code handed to an interpreter; a program of awk always is code.
func (w *walker) interpreted(c *Command) {
	inline := strings.Contains(c.Name.Basename, "awk") || len(c.Args) == 0
	for _, a := range c.Args {
		short := strings.HasPrefix(a.Value, "-") && !strings.HasPrefix(a.Value, "--") && strings.ContainsAny(a.Value, "cerEp")
		inline = inline || short || a.Value == "-" || a.Value == "--eval" || a.Value == "--print" || a.Value == "eval" || strings.HasPrefix(a.Value, "--eval=")
	}
	if inline {
		w.Features.Inline = true
		w.doubt("hands code to " + c.Name.Basename)
	}
}
