# git: what reaches others, and what makes git start other programs.
package gatehouse.permission

# Subcommands belong to families as programs do, see families.rego.
about.git contains d if {
	some c in input.bash.commands
	some family in git_families[c.git.subcommand]
	some d in about_git[family]
}

git_families := {
	"push": ["push", "sends", "programs", "hooks"], "send-email": ["sends"], "send-pack": ["push", "sends", "programs"], "http-push": ["push", "sends"], "imap-send": ["sends"],
	"svn": ["sends"], "p4": ["sends"],
	"tag": ["names"], "branch": ["names"], "update-ref": ["history"], "replace": ["history"], "rebase": ["history", "programs", "hooks"],
	"symbolic-ref": ["history"], "notes": ["history"], "remote": ["remote"], "config": ["config"], "submodule": ["remote", "programs"],
	"clone": ["programs", "remote"], "grep": ["programs", "tree"], "difftool": ["programs"], "mergetool": ["programs"], "bisect": ["programs"],
	"filter-branch": ["undo", "programs"], "merge-index": ["programs"], "filter-repo": ["undo"], "clean": ["undo"], "reset": ["undo"], "checkout": ["undo"], "switch": ["undo"],
	"restore": ["undo"], "stash": ["undo"], "reflog": ["undo"], "gc": ["undo"], "worktree": ["undo"], "init": ["programs"],
	"fetch": ["programs"], "pull": ["programs", "hooks"], "ls-remote": ["programs"], "archive": ["programs"], "log": ["programs"],
	"show": ["programs"], "diff": ["programs", "tree"], "format-patch": ["programs"], "blame": ["programs"], "fetch-pack": ["programs"],
	"commit": ["hooks"], "merge": ["hooks"], "am": ["hooks"], "cherry-pick": ["hooks"], "revert": ["hooks"],
	"daemon": ["serve"], "instaweb": ["serve"], "shell": ["serve"], "http-backend": ["serve"], "upload-pack": ["serve"], "receive-pack": ["serve"],
	"upload-archive": ["serve"], "maintenance": ["schedule"],
}

about_git.sends contains {
	"effect": "ask", "rule": "git.push", "severity": "high",
	"reason": sprintf("%s publishes commits", [short(c.text)]),
	"agent_message": "A person is asked before commits leave this machine. Commit here and say that they can be pushed.",
} if {
	some c in input.bash.commands
	"sends" in git_families[c.git.subcommand]
	not satisfied
}

about_git.history contains {
	"effect": "ask", "rule": "git.history", "severity": "medium",
	"reason": sprintf("%s changes names or history", [short(c.text)]),
	"agent_message": "A person is asked before history changes. Add commits instead, and say what should be rewritten.",
} if {
	some c in input.bash.commands
	"history" in git_families[c.git.subcommand]
	not satisfied
}

about_git.names contains {
	"effect": "ask", "rule": "git.history", "severity": "medium",
	"reason": sprintf("%s changes names or history", [short(c.text)]),
	"agent_message": "A person is asked before tags are made and branches deleted. Listing is free: git tag --list, git branch --list.",
} if {
	some c in input.bash.commands
	changes_names(c.git)
	not satisfied
}

changes_names(g) if {
	g.subcommand == "tag"
	some a in g.args
	not regex.match(`^(-l|--list|-n[0-9]*|--sort=.*|--points-at|--contains|--merged|--no-merged|--column|--format=.*)$`, a)
	not g.args[0] in {"-l", "--list", "--points-at", "--contains", "--merged", "--no-merged"}
}

changes_names(g) if {
	g.subcommand == "branch"
	some a in g.args
	regex.match(`^(-[a-zA-Z]*[dDmMcCf][a-zA-Z]*|--(de|mo|co[pl]y|fo).*)$`, a)
}

about_git.remote contains {
	"effect": "ask", "rule": "git.remote", "severity": "high",
	"reason": sprintf("%s changes where commits come from or go to", [short(c.text)]),
	"agent_message": "A person is asked before other repositories are named. git remote -v lists those that are there; say which one is needed and why.",
} if {
	some c in input.bash.commands
	names_repository(c.git)
	not satisfied
}

names_repository(g) if g.subcommand == "clone"

names_repository(g) if {
	g.subcommand == "remote"
	g.args[0] in {"add", "set-url", "rename", "set-branches", "set-head", "update", "remove", "rm"}
}

names_repository(g) if {
	g.subcommand == "submodule"
	g.args[0] in {"add", "set-url", "update", "sync", "init"}
}

about_git.undo contains undo(c) if {
	some c in input.bash.commands
	discards(c.git)
	not satisfied
}

discards(g) if g.subcommand in {"clean", "filter-branch", "filter-repo", "restore"}

discards(g) if {
	g.subcommand in {"reset", "checkout", "switch", "worktree", "gc", "stash", "reflog"}
	some a in g.args
	regex.match(`^(--(hard|merge|keep|force|discard-changes|prune=.*|expire=.*|)|-[a-z]*f[a-z]*|drop|clear|expire|delete|\.)$`, a)
}
