package facts

import (
	"slices"
	"strings"
)

// What names a program on git's own command line. Options may be shortened to
// any beginning, so a beginning of one of these counts, however short.

// gitNaming are options whose value is a program, a folder of hooks or
// configuration, whatever the subcommand.
var gitNaming = []string{"--exec", "--upload-pack", "--receive-pack", "--extcmd", "--template", "--config", "--config-env", "--open-files-in-pager",
	"--smtp-server", "--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd", "--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter", "--commit-filter", "--tag-name-filter", "--setup"}

// gitNamingOnly bounds options whose beginnings mean something harmless elsewhere.
var gitNamingOnly = map[string][]string{
	"--template": {"init", "clone", "submodule"}, "--config": {"clone"}, "--setup": {"filter-branch"}, "--open-files-in-pager": {"grep"},
	"--smtp-server": {"send-email"}, "--sendmail-cmd": {"send-email"}, "--to-cmd": {"send-email"}, "--cc-cmd": {"send-email"}, "--header-cmd": {"send-email"},
	"--exec":        {"rebase", "push", "send-pack", "ls-remote", "fetch", "fetch-pack", "archive", "pull", "clone"},
	"--upload-pack": {"fetch", "pull", "clone", "ls-remote", "fetch-pack", "submodule"}, "--receive-pack": {"push", "send-pack"}, "--extcmd": {"difftool"},
	"--env-filter": {"filter-branch"}, "--tree-filter": {"filter-branch"}, "--index-filter": {"filter-branch"}, "--parent-filter": {"filter-branch"},
	"--msg-filter": {"filter-branch"}, "--commit-filter": {"filter-branch"}, "--tag-name-filter": {"filter-branch"},
}

// gitNamingLetters are the same for letters, also within a bundle.
var gitNamingLetters = map[string]string{"grep": "O", "clone": "uc", "rebase": "x", "difftool": "x", "ls-remote": "u"}

// gitNamingWords are first words after a subcommand that take a program.
var gitNamingWords = map[string]string{"bisect": "run", "submodule": "foreach"}

// gitHarmlessStrategies are the strategies git has itself; any other is a program.
var gitHarmlessStrategies = setOf("ort", "recursive", "resolve", "octopus", "ours", "subtree", "")

// helperTransport is an address that names the program git reaches it by.
var helperTransport = lazily(`^[A-Za-z0-9+.-]+::`)

// gitStartsAll are subcommands that exist to start programs, or hand out logins.
func gitStartsAll(sub string) bool {
	for _, prefix := range []string{"credential", "remote-", "maintenance", "submodule--helper", "merge-index", "merge-one-file", "hook", "for-each-repo", "imap-send", "web--browse", "instaweb", "daemon", "http-backend", "shell", "cvsserver", "upload-pack", "receive-pack", "sh-"} {
		if sub == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(sub, prefix) || prefix == "credential" && strings.HasPrefix(sub, "credential-") {
			return true
		}
	}
	return false
}

// programs looks for what names a program among the words after the subcommand.
func (g *Git) programs(args gitArgs) {
	sub := g.Subcommand
	named := gitStartsAll(sub)
	for i, a := range args {
		v := a.Value
		switch {
		case v == "--" && a.Static:
			g.ProgramOption = g.ProgramOption || named
			return
		case strings.HasPrefix(v, "--"):
			named = named || gitNames(sub, v) || strategy(sub, args, i)
		case a.Flag:
			named = named || strings.ContainsAny(v[1:], gitNamingLetters[sub]) || strategy(sub, args, i)
		case i == 0:
			named = named || gitNamingWords[sub] == v && v != ""
		}
		named = named || (g.Network || sub == "remote" || sub == "submodule") && helperTransport.MatchString(v)
	}
	g.ProgramOption = g.ProgramOption || named
}

// gitNames reports whether a long option, whole or shortened, names a program
// for a subcommand; for one that is not known here all do.
func gitNames(sub, v string) bool {
	name, _, _ := strings.Cut(v, "=")
	for _, o := range gitNaming {
		if len(name) > 2 && strings.HasPrefix(o, name) && (name == o && !slices.Contains([]string{"--template", "--config", "--setup"}, o) || !gitKnown(sub) || slices.Contains(gitNamingOnly[o], sub)) {
			return true
		}
	}
	return false
}

// strategy reports a merge strategy that is a program of its own.
func strategy(sub string, args gitArgs, i int) bool {
	if sub != "merge" && sub != "pull" && sub != "rebase" && sub != "cherry-pick" && sub != "revert" {
		return false
	}
	v := args[i].Value
	name, value, attached := strings.Cut(v, "=")
	switch {
	case strings.HasPrefix(v, "--"):
		if len(name) < 5 || !strings.HasPrefix("--strategy", name) {
			return false
		}
	case v[1] != 's' || sub == "cherry-pick" || sub == "revert": // -s is --signoff there
		return false
	default:
		value, attached = v[2:], len(v) > 2
	}
	if !attached && i+1 < len(args) {
		return !args[i+1].Static || !gitHarmlessStrategies[args[i+1].Value]
	}
	return !gitHarmlessStrategies[value]
}

// gitKnown reports the subcommands whose effects the tables tell.
func gitKnown(sub string) bool {
	return (gitReaders[sub] || gitWriters[sub] || gitTransports[sub]) && sub != "filter-branch" && !gitStartsAll(sub)
}

// gitHarmlessKeys are keys, or beginnings of keys that end in a dot, that may
// be set for one command: they change looks, names and limits.
var gitHarmlessKeys = []string{"color.", "column.", "advice.", "user.name", "user.email", "author.", "committer.", "i18n.", "core.quotepath", "core.abbrev", "core.autocrlf", "core.eol",
	"core.safecrlf", "core.filemode", "core.ignorecase", "core.longpaths", "core.precomposeunicode", "log.date", "log.decorate", "log.showsignature", "status.short", "status.branch", "status.showuntrackedfiles",
	"diff.renames", "diff.renamelimit", "diff.context", "diff.algorithm", "diff.noprefix", "diff.mnemonicprefix", "diff.colormoved", "init.defaultbranch", "pull.rebase", "pull.ff", "push.default",
	"merge.ff", "merge.conflictstyle", "rebase.autostash", "rebase.autosquash", "gc.auto", "protocol.version", "http.postbuffer", "http.lowspeedlimit", "http.lowspeedtime", "pack.threads", "pack.windowmemory", "fetch.prune", "fetch.parallel", "tag.sort", "branch.sort", "versionsort.suffix"}

// gitFalseKeys are harmless when they are switched off.
var gitFalseKeys = setOf("commit.gpgsign", "tag.gpgsign", "push.gpgsign", "core.fsmonitor", "core.untrackedcache", "maintenance.auto", "commit.verbose", "submodule.recurse")

// harmlessKey reports a key and a value that start nothing and lead nowhere.
func harmlessKey(key, value string) bool {
	for _, k := range gitHarmlessKeys {
		if key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) {
			return true
		}
	}
	return gitFalseKeys[key] && (value == "false" || value == "0" || value == "no" || value == "off")
}

// gitPushValued are options of push whose value is the next word.
var gitPushValued = []string{"--push-option", "--repo", "--receive-pack", "--exec", "--recurse-submodules"}

// refspecs are the words of a push that are no options and no values of them.
func refspecs(args gitArgs) []string {
	found := []string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch v := a.Value; {
		case v == "--" && a.Static:
			for _, rest := range args[i+1:] {
				found = append(found, rest.Value)
			}
			return found
		case strings.HasPrefix(v, "--"):
			if len(v) > 3 && slices.ContainsFunc(gitPushValued, func(o string) bool { return strings.HasPrefix(o, v) }) {
				i++
			}
		case a.Flag && len(v) > 1:
			if strings.IndexByte(v, 'o') == len(v)-1 {
				i++
			}
		default:
			found = append(found, v)
		}
	}
	return found
}
