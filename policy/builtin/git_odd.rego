# git commands that are more than a known subcommand with options of its own: none
# of the caller's rules answers what is said here.
package gatehouse.permission

# Of most commands nothing of what follows is said.
about.git contains d if {
	some c in input.bash.commands
	not is_null(c.git)
	[c.git.known, c.git.runs_program, c.git.program_option, c.git.globals, c.env, c.static] != [true, false, false, [], [], true]
	some d in about_odd_git
}

about_odd_git contains {
	"effect": "ask", "rule": "git.unknown", "severity": "medium",
	"reason": sprintf("%s: what git is to do is only known when it runs", [short(c.text)]),
	"agent_message": "Write git's subcommand and its options out, as in: git status.",
} if {
	some c in input.bash.commands
	c.git.subcommand == ""
	c.static == false
}

# no rule of the caller's knows what an alias does
about_odd_git contains {
	"effect": "ask", "rule": "git.unknown", "severity": "medium",
	"reason": sprintf("git %s is an alias, an extension or a helper: nobody can tell what it does", [short(c.git.subcommand)]),
	"agent_message": "Use git's own everyday commands, such as status, log, add and commit, or run the program itself.",
} if {
	some c in input.bash.commands
	c.git.known == false
	c.git.subcommand != ""
}

about_odd_git contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("git %s is what git starts by itself to reach others, and starts what it is told to", [short(c.git.subcommand)]),
	"agent_message": "Use git fetch or git push, of which a person is asked.",
} if {
	some c in input.bash.commands
	startswith(c.git.subcommand, "remote-")
}

about_odd_git contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("git %s hands out logins", [short(c.git.subcommand)]),
	"agent_message": "Logins are not shown and not changed from a session. Work with the files of the workspace, and say which access is missing.",
} if {
	some c in input.bash.commands
	regex.match(`^(?i)credential($|-)`, c.git.subcommand)
}

about_odd_git contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s names a program for git to start", [short(c.text)]),
	"agent_message": "Leave that option, key or variable out; git starts no other programs from a session. Run the program itself, as a command of its own.",
} if {
	some c in input.bash.commands
	c.git.program_option
}

# The repository of the session was looked at when the session began; what lies
# in another one, its configuration and its hooks, was not.
about_odd_git contains {
	"effect": "ask", "rule": "git.programs", "severity": "high",
	"reason": sprintf("%s may start programs that a repository in another folder names", [short(c.text)]),
	"agent_message": "Use git in the folder of this session, without -C, --git-dir and cd; a person is asked about other repositories, since their configuration and hooks can start programs.",
} if {
	some c in input.bash.commands
	c.git.runs_program
	not in_own_repository(c)
}

in_own_repository(c) if {
	c.cwd.known
	c.cwd.value in ({input.session.cwd} | {root | some root in input.session.roots})
	not moves_repository(c.git)
}

moves_repository(g) if {
	some a in g.globals
	regex.match(`^--(git-dir|work-tree|bare)`, a)
}

about_odd_git contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s sets what git starts or where it goes", [short(c.text)]),
	"agent_message": "Use git without -c and --config-env for such keys; how git works is not changed from a session.",
} if {
	some c in input.bash.commands
	some key in c.git.c_options
	regex.match(executing, key)
}

about_odd_git contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s makes git start another program", [short(c.text)]),
	"agent_message": "Leave that option out; git starts no other programs from a session.",
} if {
	some c in input.bash.commands
	some a in c.git.globals
	startswith(a, "--exec")
}

about_odd_git contains {
	"effect": "deny", "rule": "git.no_verify", "severity": "high",
	"reason": sprintf("%s leaves out the checks of this repository", [short(c.text)]),
	"agent_message": "Leave the variable out: let the hooks run and repair what they find.",
} if {
	some c in input.bash.commands
	not is_null(c.git)
	some v in c.env
	v.name in {"HUSKY", "HUSKY_SKIP_HOOKS", "SKIP", "LEFTHOOK", "PRE_COMMIT_ALLOW_NO_CONFIG"}
}
