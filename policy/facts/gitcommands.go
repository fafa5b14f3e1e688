package facts

import "strings"

// gitReaders never write nor talk to others, whatever their arguments; some
// have options that write a file or start a program.
var gitReaders = setOf("annotate", "blame", "cat-file", "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "cherry", "count-objects",
	"describe", "diff", "diff-files", "diff-index", "diff-tree", "for-each-ref", "get-tar-commit-id", "grep", "log", "ls-files", "ls-tree", "merge-base",
	"name-rev", "patch-id", "range-diff", "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-index", "show-ref", "status", "stripspace",
	"var", "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged")

// gitWriters change the repository or the working tree and talk to nobody.
var gitWriters = setOf("add", "am", "apply", "bisect", "branch", "bundle", "checkout", "checkout-index", "cherry-pick", "clean", "commit", "commit-graph", "commit-tree", "config",
	"fast-import", "fast-export", "filter-branch", "format-patch", "fsck", "gc", "hash-object", "index-pack", "init", "merge", "merge-file", "merge-index", "merge-tree", "mktag", "mktree", "mv",
	"multi-pack-index", "notes", "pack-objects", "pack-refs", "prune", "prune-packed", "read-tree", "rebase", "reflog", "repack", "replace", "rerere", "reset", "restore", "revert", "rm",
	"sparse-checkout", "stage", "stash", "switch", "symbolic-ref", "tag", "unpack-objects", "update-index", "update-ref", "update-server-info", "worktree", "write-tree")

// gitTransports talk to another repository.
var gitTransports = setOf("fetch", "pull", "push", "clone", "ls-remote", "send-pack", "fetch-pack", "remote", "submodule", "archive")

// gitTreeWriters change the files their arguments name.
var gitTreeWriters = setOf("checkout", "checkout-index", "restore", "rm", "mv", "clean", "stash", "apply", "am", "switch", "merge-file", "sparse-checkout", "reset")

// gitLists tell the forms of writing commands that only list.
var gitLists = map[string]func(gitArgs) bool{
	"branch": func(a gitArgs) bool {
		return a.lists(gitBranchLists, "--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
	},
	"tag": func(a gitArgs) bool {
		return a.lists(gitTagLists, "--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
	},
	"remote":          func(a gitArgs) bool { return a.first("", "-v", "--verbose", "get-url") },
	"stash":           func(a gitArgs) bool { return len(a) > 0 && a.first("list", "show") },
	"reflog":          func(a gitArgs) bool { return !a.first("expire", "delete", "drop", "write") },
	"worktree":        func(a gitArgs) bool { return len(a) > 0 && a.first("list") },
	"notes":           func(a gitArgs) bool { return a.first("", "list", "show", "get-ref") },
	"bisect":          func(a gitArgs) bool { return len(a) > 0 && a.first("log", "terms") },
	"bundle":          func(a gitArgs) bool { return len(a) > 0 && a.first("verify", "list-heads") },
	"rerere":          func(a gitArgs) bool { return len(a) > 0 && a.first("status", "diff", "remaining") },
	"submodule":       func(a gitArgs) bool { return a.first("", "status", "summary") },
	"archive":         func(a gitArgs) bool { return !a.any("-o", "--o") },
	"ls-remote":       func(gitArgs) bool { return true },
	"sparse-checkout": func(a gitArgs) bool { return len(a) > 0 && a.first("list") },
	"hash-object":     func(a gitArgs) bool { return !a.any("-w") },
	"fsck":            func(a gitArgs) bool { return !a.any("--lost") },
	"format-patch":    func(a gitArgs) bool { return a.any("--stdout") && !a.any("-o", "--out") },
	"symbolic-ref":    func(a gitArgs) bool { return a.operands() == 1 && !a.any("-d", "--del", "-m") },
	"replace":         func(a gitArgs) bool { return len(a) == 0 || a.first("-l", "--list") },
	"config":          gitConfigReads,
}

var (
	gitBranchLists = setOf("-a", "-r", "-v", "-vv", "-i", "--all", "--remotes", "--verbose", "--show-current", "--ignore-case", "--color", "--no-color", "--column", "--no-column", "--no-abbrev")
	gitTagLists    = setOf("-i", "--ignore-case", "--color", "--no-color", "--column", "--no-column", "-n")
)

// gitArgs are the words after a subcommand.
type gitArgs []Word

// first reports whether the first word is one of these; no word counts as "".
func (a gitArgs) first(values ...string) bool {
	v, static := "", true
	if len(a) > 0 {
		v, static = a[0].Value, a[0].Static
	}
	for _, want := range values {
		if v == want && static && (v != "" || len(a) == 0) {
			return true
		}
	}
	return false
}

// any reports whether a word begins so.
func (a gitArgs) any(prefixes ...string) bool {
	for _, w := range a {
		for _, p := range prefixes {
			if strings.HasPrefix(w.Value, p) {
				return true
			}
		}
	}
	return false
}

// operands counts the words that are no options.
func (a gitArgs) operands() int {
	n := 0
	for _, w := range a {
		if !w.Flag {
			n++
		}
	}
	return n
}

// lists reports that every option is of the plain set or has a value attached,
// and that operands stand only beside an option that makes them patterns.
func (a gitArgs) lists(plain map[string]bool, patterns ...string) bool {
	pattern := false
	for _, w := range a {
		name, _, attached := strings.Cut(w.Value, "=")
		matched := false
		for _, p := range patterns {
			matched = matched || name == p
		}
		pattern = pattern || matched
		switch {
		case !w.Flag || matched || plain[w.Value]:
		case attached && (name == "--sort" || name == "--format" || name == "--abbrev" || name == "--color" || name == "--column"):
		case len(w.Value) > 2 && strings.HasPrefix(w.Value, "-n") && strings.Trim(w.Value[2:], "0123456789") == "":
		default:
			return false
		}
	}
	return pattern || a.operands() == 0
}

// judge fills what the subcommand does.
func (g *Git) judge(args gitArgs) {
	sub := g.Subcommand
	lists, listing := gitLists[sub]
	reads := gitReaders[sub] || listing && lists(args)
	switch {
	case sub == "" && len(g.Globals) > 0 && len(args) == 0 && gitPlain[g.Globals[len(g.Globals)-1]]: // git --version
		return
	case gitReaders[sub], gitWriters[sub]:
		g.Writes = !reads
	case gitTransports[sub]:
		g.Writes, g.Network = !reads, g.networks(sub, reads, args)
	default: // an alias, an extension, a helper
		g.Writes, g.Network, g.RunsProgram = true, true, true
		return
	}
	g.options(args)
}

func (g *Git) networks(sub string, reads bool, args gitArgs) bool {
	switch sub {
	case "remote":
		return !reads && !args.first("add", "rename", "remove", "rm", "set-head", "set-branches", "set-url") || args.any("-f", "--fetch", "-a", "--auto")
	case "submodule":
		return !reads
	case "archive":
		return args.any("--r")
	}
	return true
}
