# git commands that only read. git does so when neither its options nor the
# repository's own configuration can start a program, and when it prints no
# contents: a tracked file may be secret.
package gatehouse.permission

git_reads(c) if {
	c.git.runs_program == false
	c.git.globals == []
	git_tells(git_ways[c.git.subcommand], c)
}

git_reads(c) if c.text == "git --version"

git_ways := {
	"describe": "tells", "log": "tells", "ls-files": "tells", "rev-parse": "tells", "shortlog": "tells", "status": "tells",
	"diff": "names", "show": "names",
	"branch": "lists", "tag": "lists", "remote": "lists", "stash": "lists", "worktree": "lists", "config": "lists",
}

git_tells("tells", c) if {a | some a in c.git.args} - git_flags == set()

git_tells("tells", c) if odd_words(c.git.subcommand, c.args) == []

git_tells("names", c) if {
	lists_names(c.git)
	not names_object(c.git)
	odd_words(c.git.subcommand, c.args) == []
}

odd_words(subcommand, words) := [a | some a in words; not a.value in git_flags; not git_word(subcommand, a)]

git_tells("lists", c) if git_lists(c.git)

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

git_lists(g) if [g.subcommand, concat(" ", g.args)] in {["remote", ""], ["remote", "-v"], ["remote", "--verbose"], ["stash", "list"], ["worktree", "list"], ["config", "user.name"], ["config", "user.email"]}

# without one of these git diff and git show print contents
lists_names(g) if {
	some a in g.args
	a in {"--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--no-patch", "-s"}
}

# The id of a file's contents prints them, whatever else is asked for; a commit
# is named by a branch or a tag.
names_object(g) if {
	some a in g.args
	regex.match(`(?i)(^|-g|\.\.)[0-9a-f]{4,64}([^0-9a-z]|$)`, a)
}

# no pathspec magic (:/x) and no contents of a revision (HEAD:x)
git_word(_, a) if {
	plain_word(a)
	not contains(a.value, ":")
}

git_word(subcommand, a) if {
	a.flag == true
	regex.match(git_options[subcommand], a.value)
}

git_options := {
	"describe": `^(--abbrev=[0-9]+|--match=[A-Za-z0-9.*_-]+)$`,
	"diff": `^-s$`,
	"log": `^(-s|-[0-9]{1,4}|-n[0-9]{1,4}|--(since|until|after|before|author|grep|abbrev|max-count|date)=[A-Za-z0-9@:._ -]*|--(pretty|format)=[A-Za-z0-9%:,.()<> |/_-]*)$`,
	"ls-files": `^-[com]+$`,
	"rev-parse": `^--(short=[0-9]+|git-dir|show-prefix)$`,
	"shortlog": `^(-[snec]+|--(since|until)=[A-Za-z0-9@:._ -]*)$`,
	"show": `^(-s|--(pretty|format)=[A-Za-z0-9%:,.()<> |/_-]*)$`,
	"status": `^(-[sb]+|-u(no|all|normal)|--(porcelain|untracked-files|ignored)=[a-z0-9]+|--ignored)$`,
}

git_flags := {
	"--", "-b", "-w", "-1", "-n", "-a", "-q", "-e", "--short", "--branch", "--porcelain", "--long", "--stat",
	"--shortstat", "--numstat", "--oneline", "--graph", "--all", "--decorate", "--name-only", "--name-status",
	"--cached", "--staged", "--others", "--modified", "--exclude-standard", "--no-color", "--no-ext-diff",
	"--no-textconv", "--no-patch", "--abbrev-ref", "--show-toplevel", "--is-inside-work-tree", "--tags", "--always",
	"--no-pager", "--no-merges", "--merges", "--reverse", "--ignore-all-space", "--dirty", "--first-parent",
}
