# git starts other programs at the word of an option, a key of its configuration
# or a subcommand. None of them may be set from a session.
package gatehouse.permission

about_git.config contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s sets what git starts or where it goes", [short(c.text)]),
	"agent_message": "Only user.name, user.email and other keys that start nothing may be set; how git works is not changed from a session.",
} if {
	some c in input.bash.commands
	c.git.subcommand == "config"
	not reads_config(c.git.args)
	some a in c.git.args
	regex.match(executing, lower(a))
}

about_git.config contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s opens git's configuration as a whole", [short(c.text)]),
	"agent_message": "Set one key by its name, as in: git config user.name Ann.",
} if {
	some c in input.bash.commands
	c.git.subcommand == "config"
	some a in c.git.args
	regex.match(`^(-e|--ed.*|edit|--rename-section|--remove-section|rename-section|remove-section)$`, a)
}

# what comes behind the first key is a value, whatever it says
reads_config(args) if args[0] in reads_keys

reads_config(args) if {
	args[0] in {"--global", "--local", "--system", "--worktree"}
	args[1] in reads_keys
}

reads_keys := {"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"}

about_git.programs contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s makes git start another program", [short(c.text)]),
	"agent_message": "Leave that option or subcommand out; git starts no other programs from a session. Run the program itself, for each step.",
} if {
	some c in input.bash.commands
	some a in c.git.args
	starts_program(c.git.subcommand, a)
}

starts_program(_, a) if {
	startswith(a, "--")
	regex.match(`^--(exec|upload-p|upl|receive-p|rece|open-f|ope|extc|templ|ext-d)`, a)
}

starts_program("clone", a) if regex.match(`^(-[a-z]*[cu]|--conf|--upl)`, a)

starts_program("grep", a) if regex.match(`^-[A-Za-z]*O`, a)

starts_program("rebase", a) if regex.match(`^(-[a-z]*x|--exe)`, a)

starts_program("difftool", a) if regex.match(`^(-[a-z]*x|--extc)`, a)

starts_program("filter-branch", a) if regex.match(`^--[a-z-]+-filter`, a)

starts_program("merge-index", a) if not startswith(a, "-")

starts_program("submodule", "foreach")

starts_program("bisect", "run")

about_git.serve contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s serves this repository to others", [short(c.text)]),
	"agent_message": "Repositories are not served from here. Work with the files of the workspace.",
} if {
	some c in input.bash.commands
	"serve" in git_families[c.git.subcommand]
}

about_git.schedule contains {
	"effect": "deny", "rule": "git.config", "severity": "high",
	"reason": sprintf("%s makes git run later, when nobody looks", [short(c.text)]),
	"agent_message": "Nothing is scheduled from a session. git maintenance run, of which a person is asked, does the work now.",
} if {
	some c in input.bash.commands
	c.git.subcommand == "maintenance"
	c.git.args[0] in {"start", "register"}
}

about_git.hooks contains {
	"effect": "deny", "rule": "git.no_verify", "severity": "high",
	"reason": sprintf("%s leaves out the checks of this repository", [short(c.text)]),
	"agent_message": "Commit and push without --no-verify: let the hooks run and repair what they find.",
} if {
	some c in input.bash.commands
	some a in c.git.args
	skips_hooks(c.git.subcommand, a)
}

skips_hooks(_, arg) if {
	startswith(arg, "--no-v")
	regex.match(`^--no-veri(f|fy)?$`, arg)
}

skips_hooks("commit", arg) if {
	startswith(arg, "-")
	regex.match(`^-[aeiopqsvz]*n`, arg)
}

executing := `^(core|alias|diff|filter|credential|include|includeif|protocol|gpg|pager|sequence|merge|mergetool|difftool|url|http|remote|uploadpack|receive|ssh|interactive|browser|man|help|web|init|safe|sendemail|submodule|trailer|tar|hook|extensions|column|gc|maintenance)\.`
