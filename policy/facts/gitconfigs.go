package facts

import (
	"slices"
	"strings"
)

// git config stops looking for options at the first word that is none: what
// stands behind is a key and its value, however it looks.
var (
	gitConfigShows  = setOf("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "--list", "-l")
	gitConfigPlain  = setOf("--global", "--system", "--local", "--worktree", "-z", "--null", "--name-only", "--includes", "--no-includes", "--show-origin", "--show-scope", "--bool", "--int", "--path", "--bool-or-int", "--expiry-date", "--all", "--regexp")
	gitConfigValued = setOf("-f", "--file", "--blob", "--type", "--default", "--value", "--url")
	gitConfigWords  = setOf("set", "unset", "edit", "rename-section", "remove-section")
)

// gitConfigReads reports git config that prints.
func gitConfigReads(a gitArgs) bool {
	shows := false
	if a.first("get", "list") {
		shows, a = true, a[1:]
	}
	for len(a) > 0 && a[0].Flag {
		v := a[0].Value
		name, _, attached := strings.Cut(v, "=")
		switch {
		case !a[0].Static:
			return false
		case gitConfigShows[v]:
			shows = true
		case gitConfigPlain[v], attached && strings.HasPrefix(v, "--") && gitConfigValued[name]:
		case gitConfigValued[v] && len(a) > 1:
			a = a[1:]
		default:
			return false
		}
		a = a[1:]
	}
	return shows || len(a) == 1 && a[0].Static && !gitConfigWords[a[0].Value]
}

// gitWrite is a word that names what git writes.
type gitWrite struct {
	arg   int    // index in the command's words
	text  string // of the path; computed where nobody knows
	tilde bool
	from  bool // counts from the shell's folder, not from git's
}

// maxGitWrites bounds the paths looked at for one command.
const maxGitWrites = 16

// gitWritten lists what a writing command's words name beside pathspecs.
func gitWritten(c *Command) []gitWrite {
	g := c.Git
	var all []gitWrite
	if g.Writes {
		all = globalFolders(c)
	}
	add := func(i int) {
		if i >= 0 && i < len(c.Args) {
			all = append(all, gitWrite{arg: i, text: c.Args[i].Value, tilde: c.Args[i].Tilde})
		}
	}
	operands := gitOperands(c)
	switch g.Subcommand {
	case "init", "pack-objects":
		each(operands, add)
	case "clone":
		if len(operands) > 1 {
			add(operands[len(operands)-1])
		}
	case "worktree":
		if len(operands) > 1 && slices.Contains([]string{"add", "move", "remove"}, c.Args[operands[0]].Value) {
			each(operands[1:min(len(operands), 3)], add)
		}
	case "bundle":
		if len(operands) > 1 && c.Args[operands[0]].Value == "create" {
			add(operands[1])
		}
	case "submodule":
		if len(operands) > 2 && c.Args[operands[0]].Value == "add" {
			add(operands[len(operands)-1])
		}
	case "interpret-trailers":
		if hasPrefix(c.Args, "--in") {
			each(operands, add)
		}
	case "mailinfo", "mailsplit":
		each(operands, add)
	}
	return append(all, gitOptionFiles(c)...)
}

func each(list []int, do func(int)) {
	for _, i := range list {
		do(i)
	}
}

func hasPrefix(words []Word, prefix string) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Value, prefix) })
}

// globalFolders are the folders that options before the subcommand name.
func globalFolders(c *Command) []gitWrite {
	var all []gitWrite
	for i := 0; i < c.Git.args && i < len(c.Args); i++ {
		a := c.Args[i]
		name, value, attached := strings.Cut(a.Value, "=")
		switch {
		case (a.Value == "-C" || a.Value == "--git-dir" || a.Value == "--work-tree") && i+1 < c.Git.args:
			i++
			all = append(all, gitWrite{arg: i, text: c.Args[i].Value, tilde: c.Args[i].Tilde, from: a.Value == "-C"})
		case attached && (name == "--git-dir" || name == "--work-tree"):
			all = append(all, gitWrite{arg: i, text: value})
		case gitValued[a.Value]:
			i++
		}
	}
	return all
}

// gitTakesNext are options, by subcommand, whose value is the next word.
var gitTakesNext = map[string][]string{
	"clone":        {"-o", "--origin", "-b", "--branch", "-u", "--upload-pack", "--reference", "--reference-if-able", "--depth", "--shallow-since", "--shallow-exclude", "-c", "--config", "--separate-git-dir", "--template", "-j", "--jobs", "--filter", "--server-option", "--bundle-uri", "--ref-format", "--revision"},
	"init":         {"-b", "--initial-branch", "--template", "--separate-git-dir", "--object-format", "--ref-format"},
	"worktree":     {"-b", "-B", "--reason", "--expire"},
	"submodule":    {"-b", "--branch", "--name", "--reference", "--depth"},
	"bundle":       {"--version"},
	"pack-objects": {"--window", "--depth", "--max-pack-size", "--keep-pack", "--filter", "--threads"},
}

// gitOperands are the indexes of the words after the subcommand that are
// neither options nor their values.
func gitOperands(c *Command) []int {
	var all []int
	takes := gitTakesNext[c.Git.Subcommand]
	for i, dashes := c.Git.args, false; i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case !dashes && a.Value == "--":
			dashes = true
		case !dashes && a.Flag:
			if slices.ContainsFunc(takes, func(o string) bool {
				return a.Value == o || len(a.Value) > 3 && strings.HasPrefix(a.Value, "--") && strings.HasPrefix(o, a.Value)
			}) {
				i++
			}
		default:
			all = append(all, i)
		}
	}
	return all
}

// gitFileOptions are options whose value is a file or folder that is written.
var gitFileOptions = map[string][]string{
	"clone": {"--separate-git-dir"}, "init": {"--separate-git-dir"}, "fast-export": {"--export-marks"}, "fast-import": {"--export-marks", "--export-pack-edges"}, "config": {"--file", "-f"},
	"checkout-index": {"--prefix"}, "read-tree": {"--index-output"}, "index-pack": {"-o"}, "bugreport": {"-o", "--output-directory"}, "diagnose": {"-o", "--output-directory"}, "mailsplit": {"-o"}, "credential-store": {"--file"},
}

// gitOptionFiles are the files that a writing command's options name.
func gitOptionFiles(c *Command) []gitWrite {
	g := c.Git
	if g.Subcommand == "config" && !g.Writes {
		return nil
	}
	var all []gitWrite
	for i := g.args; i < len(c.Args); i++ {
		a := c.Args[i]
		if a.Value == "--" || g.Subcommand == "config" && !a.Flag {
			break
		}
		switch {
		case g.Subcommand == "config" && len(a.Value) > 3 && strings.HasPrefix("--global", a.Value):
			all = append(all, gitWrite{arg: i, text: "~/.gitconfig", tilde: true})
		case g.Subcommand == "config" && len(a.Value) > 3 && strings.HasPrefix("--system", a.Value):
			all = append(all, gitWrite{arg: i, text: "/etc/gitconfig"})
		}
		name, value, attached := strings.Cut(a.Value, "=")
		for _, o := range gitFileOptions[g.Subcommand] {
			switch long := strings.HasPrefix(o, "--"); {
			case long && len(name) > 3 && strings.HasPrefix(o, name) && attached:
				all = append(all, gitWrite{arg: i, text: value})
			case (long && len(name) > 3 && strings.HasPrefix(o, name) || a.Value == o) && i+1 < len(c.Args):
				i++
				all = append(all, gitWrite{arg: i, text: c.Args[i].Value, tilde: c.Args[i].Tilde})
			case !long && len(a.Value) > 2 && strings.HasPrefix(a.Value, o):
				all = append(all, gitWrite{arg: i, text: a.Value[2:]})
			}
		}
	}
	return all
}
