# git commands that only read. git does so when neither its options nor the
# repository's own configuration can start a program, and when it prints no
# contents: a tracked file may be secret.
package gatehouse.permission

git_reads(c) if {
	c.git.subcommand in {"describe", "log", "ls-files", "rev-parse", "shortlog", "status"}
	starts_nothing(c.git)
	[a | some a in c.args; not a.value in git_flags; not git_word(a)] == []
}

git_reads(c) if {
	c.git.subcommand in {"diff", "show"}
	starts_nothing(c.git)
	lists_names(c.git)
	[a | some a in c.args; not a.value in git_flags; not git_word(a)] == []
}

git_reads(c) if {
	c.git.subcommand in {"branch", "tag", "remote", "stash", "worktree", "config"}
	starts_nothing(c.git)
	git_lists(c.git)
}

git_reads(c) if {
	c.git.subcommand == ""
	c.text == "git --version"
}

starts_nothing(g) if {
	g.runs_program == false
	g.globals == []
}

# one regular form each of what lists names
git_lists(g) if {
	g.subcommand == "branch"
	every a in g.args {
		a in {"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current", "--no-color"}
	}
}

git_lists(g) if {
	g.subcommand == "tag"
	every a in g.args {
		a in {"-l", "--list", "-n"}
	}
}

git_lists(g) if [g.subcommand, concat(" ", g.args)] in {["remote", ""], ["stash", "list"], ["worktree", "list"], ["config", "user.name"], ["config", "user.email"]}

# without one of these git diff and git show print contents
lists_names(g) if {
	some a in g.args
	a in {"--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--no-patch", "-s"}
}

# no pathspec magic (:/x) and no contents of a revision (HEAD:x)
git_word(a) if {
	plain_word(a)
	not contains(a.value, ":")
}

git_word(a) if {
	a.flag == true
	regex.match(`^(-[0-9]{1,4}|--(since|until|author|abbrev|max-count)=[A-Za-z0-9@._ -]*)$`, a.value)
}

git_flags := {
	"--", "-s", "-b", "-w", "-1", "-n", "-a", "-q", "-e", "--short", "--branch", "--porcelain", "--long", "--stat",
	"--shortstat", "--numstat", "--oneline", "--graph", "--all", "--decorate", "--name-only", "--name-status",
	"--cached", "--staged", "--others", "--modified", "--exclude-standard", "--no-color", "--no-ext-diff",
	"--no-textconv", "--no-patch", "--abbrev-ref", "--show-toplevel", "--is-inside-work-tree", "--tags", "--always",
	"--no-pager", "--no-merges", "--merges", "--reverse", "--ignore-all-space", "--dirty", "--first-parent", "-sn",
}
