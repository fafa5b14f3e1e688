package facts

import (
	"slices"
	"strings"
)

var (
	shells       = setOf("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash", "posh")
	otherShells  = setOf("fish", "csh", "tcsh", "pwsh", "powershell", "nu", "elvish", "xonsh", "osh", "ysh")
	interpreters = setOf("python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "wish", "osascript", "awk", "gawk", "mawk", "nawk", "original-awk", "rscript", "groovy", "jshell", "ghci", "scala", "julia", "elixir", "erl", "guile", "racket", "sbcl", "irb", "ipython", "tsx", "ts-node")
	evaluators   = setOf("eval", "trap", "parallel", "ssh", "su", "script", "expect", "at", "batch", "tmux", "screen", "runuser", "entr", "watch", "hyperfine", "mosh", "autossh", "sshpass", "sem", "dtach", "abduco", "nix-shell", "direnv", "fc")
	meanings     = setOf("alias", "unalias", "enable", "hash", "complete", "set", "setopt", "unsetopt", "shopt", "emulate", "autoload", "zmodload", "bind", "bindkey", "zle", "compdef", "compgen", "disable", "functions", "precmd", "sched", "umask")
)

// unwrap looks behind a command that starts another one. The returned
// function, if any, records what was found; it runs after the command itself
// is recorded.
func (w *walker) unwrap(c *Command) func() {
	name := c.Name.Basename
	switch {
	case name == "source" || name == ".":
		w.Features.Source = true
		w.at = lost
		w.doubt("reads another script")
	case name == "cd" || name == "pushd" || name == "popd" || name == "chdir":
		w.changed(c)
	case meanings[name]:
		w.Features.Alias = name == "alias" || w.Features.Alias
		w.at = lost
		w.doubt("changes what later commands mean")
	case shells[name] || otherShells[name]:
		return w.shell(c)
	case evaluators[name]:
		return w.evaluated(c)
	case name == "find" || name == "fd" || name == "fdfind":
		return w.found(c)
	case interpreters[strings.TrimRight(name, "0123456789.")]:
		w.interpreted(c)
	}
	w.starts(c)
	w.moved(c)
	if row, ok := wrappers[name]; ok {
		return w.behind(c, &row)
	}
	return nil
}

// behind finds the command among a wrapper's arguments.
func (w *walker) behind(c *Command, row *wrapper) func() {
	v := wrapped{walker: w, c: c, row: row, in: c.in}
	rest, skip := c.Args, row.skip
	if row.doubted {
		w.doubt(c.Name.Basename + " starts another program")
	}
	for options := true; len(rest) > 0; {
		word := rest[0]
		switch {
		case word.runtime() && (word.Value == "" || word.Flag) && (options || skip > 0):
			w.doubt(c.Name.Basename + " with an argument that is only known at run time")
			if rest = rest[1:]; skip > 0 {
				options = false
				skip--
			}
		case options && word.Value == "--":
			options, rest = false, rest[1:]
		case options && word.Flag && len(word.Value) > 1:
			n, known := row.option(rest, v.seen)
			if !known {
				w.doubt(c.Name.Basename + " with an option that is not known")
			}
			rest = rest[n:]
		case options && word.Value == "-" && row.assigns:
			rest = rest[1:]
		case row.assigns && strings.Index(word.Value, "=") > 0:
			options, rest = false, rest[1:]
			v.assign(word)
		case skip > 0:
			options, rest = false, rest[1:]
			skip--
		default:
			return v.inner(rest)
		}
	}
	return nil
}

// runtime reports a word that may become another one, or several. Braces that
// hold no choice stay as they are.
func (w *Word) runtime() bool {
	return !w.Static && (w.unknown || w.Glob || strings.Contains(w.Value, ",") || strings.Contains(w.Value, ".."))
}

// wrapped is what a wrapper's options say about the command behind it.
type wrapped struct {
	*walker
	c       *Command
	row     *wrapper
	in      *place
	env     []Variable
	replace string // xargs -I
	none    bool   // there is no command behind it
}

// seen looks at one option.
func (v *wrapped) seen(option string, value Word) {
	switch v.c.Name.Basename + " " + option {
	case "env C", "env chdir":
		v.in = v.enter(v.in, value)
	case "env S", "env split-string":
		v.doubt("env -S splits text into a command")
		v.env = append(v.env, Variable{Name: "*"})
	case "env u", "env unset":
		v.env = append(v.env, Variable{Name: value.Value, Static: true})
	case "env i", "env ignore-environment":
		v.env = append(v.env, Variable{Name: "*", Static: true})
	case "xargs I", "xargs J":
		v.replace = value.Value
	case "xargs i", "xargs replace":
		if v.replace = value.Value; v.replace == "" {
			v.replace = "{}"
		}
	case "command v", "command V", "chrt p", "chrt pid", "taskset p", "taskset pid", "ionice p", "ionice pid", "ionice P", "ionice pgid", "ionice u", "ionice uid":
		v.none = true
	case "sudo e", "sudo edit", "sudo i", "sudo login", "sudo s", "sudo shell", "doas s":
		v.doubt(v.c.Name.Basename + " starts a shell or an editor")
		v.in = lost
	case "sudo D", "sudo chdir", "sudo R", "sudo chroot":
		v.in = lost
	case "strace E", "strace env":
		v.assign(value)
	}
}

func (v *wrapped) assign(word Word) {
	name, _, _ := strings.Cut(word.Value, "=")
	v.env = append(v.env, Variable{Name: name, Static: word.Static})
	if steers(name) {
		v.doubt("sets " + name)
	}
}

// inner records the command behind the wrapper.
func (v *wrapped) inner(words []Word) func() {
	c, w := v.c, v.walker
	if v.none {
		return nil
	}
	if o := v.row.text; o != "" && len(words) > 1 && (words[0].Value == "-"+o || words[0].Value == "--command") {
		w.doubt(c.Name.Basename + " hands text to a shell")
		return w.text(c, words[1].Value)
	}
	if v.row.moves {
		v.in = lost
	}
	own := len(words)
	if c.Name.Basename == "xargs" {
		words = v.fed(words)
	}
	c.Wrapper = v.row.plain && len(v.env) == 0
	if len(c.Via) < maxShellDepth {
		c.own = len(c.Args) - own + 1 // the rest counts from the command's own folder
	}
	return w.behindVia(c, words, v.in, v.env)
}

// fed makes the words unknown into which xargs puts what it reads.
func (v *wrapped) fed(words []Word) []Word {
	if v.replace == "" {
		return append(slices.Clone(words), Word{unknown: true})
	}
	words = slices.Clone(words)
	for i := range words {
		if strings.Contains(words[i].Value, v.replace) {
			words[i].Static, words[i].unknown = false, true
		}
	}
	return words
}

// behindVia records words as a command that c starts.
func (w *walker) behindVia(c *Command, words []Word, in *place, env []Variable) func() {
	via := append(slices.Clone(c.Via), c.Name.Basename)
	if len(via) > maxShellDepth {
		w.Features.TooDeep = true
		w.doubt("nested too deeply")
		return nil
	}
	env = append(slices.Clone(c.Env), env...)
	return func() {
		inner := *w
		inner.at = in
		inner.command(Command{Via: via, Env: env, InSubstitution: w.sub}, words)
		if inner.at != in {
			w.at = lost // builtin cd
		}
	}
}
