# git: what reaches others, and what makes git start other programs.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "git.force_push", "severity": "critical",
	"reason": sprintf("%s overwrites a protected branch", [short(c.text)]),
	"agent_message": "Push to a branch of your own, without force.",
} if {
	some c in input.bash.commands
	c.git.subcommand == "push"
	forces(c.git.args)
	some a in c.git.args
	names_protected(a)
}

# without a refspec, what is pushed depends on the branch that is checked out
decisions contains {
	"effect": "deny", "rule": "git.force_push", "severity": "critical",
	"reason": sprintf("%s may overwrite a protected branch, since it names none", [short(c.text)]),
	"agent_message": "Name the branch that is pushed, and not a protected one.",
} if {
	some c in input.bash.commands
	c.git.subcommand == "push"
	forces(c.git.args)
	count([a | some a in c.git.args; not startswith(a, "-")]) < 2
}

decisions contains {
	"effect": "ask", "rule": "git.push", "severity": "high",
	"reason": sprintf("%s publishes commits", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.git.subcommand in {"push", "send-email", "send-pack"}
	not satisfied
}

decisions contains {
	"effect": "ask", "rule": "git.history", "severity": "medium",
	"reason": sprintf("%s changes names or history", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.git.subcommand in {"tag", "rebase", "update-ref", "replace"}
	not satisfied
}

decisions contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s sets what git starts or where it goes", [short(c.text)]),
	"agent_message": "Do not change how git works.",
} if {
	some c in input.bash.commands
	some key in array.concat(c.git.c_options, configured(c))
	regex.match(executing, lower(key))
}

decisions contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s makes git start another program", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.name.basename == "git"
	some a in array.concat(c.git.globals, c.git.args)
	regex.match(`^--(exec|upload-p|upl|receive-p|rece|open-f|ope|extc|templ|ext-d)`, a)
}

decisions contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s makes git start another program", [short(c.text)]),
} if {
	some c in input.bash.commands
	some a in c.git.args
	starts_program(c.git.subcommand, a)
}

decisions contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s makes git start another program", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.git.subcommand == "bisect"
	"run" in c.git.args
}

starts_program("clone", a) if regex.match(`^(-[a-z]*[cu]|--conf|--upl)`, a)

starts_program("grep", a) if regex.match(`^-[A-Za-z]*O`, a)

starts_program("rebase", a) if regex.match(`^(-[a-z]*x|--exe)`, a)

starts_program("difftool", a) if regex.match(`^(-[a-z]*x|--extc)`, a)

starts_program("submodule", "foreach")

decisions contains {
	"effect": "deny", "rule": "git.no_verify", "severity": "high",
	"reason": sprintf("%s leaves out the checks of this repository", [short(c.text)]),
	"agent_message": "Let the hooks run and repair what they find.",
} if {
	some c in input.bash.commands
	c.name.basename == "git"
	some a in c.git.args
	skips_hooks(c.git.subcommand, a)
}

forces(args) if {
	some a in args
	regex.match(`^(-[a-zA-Z]*[fd][a-zA-Z]*|--fo(r.*)?|--m.*|--d(e.*)?|--pru.*|\+.*|:.*)$`, a)
}

names_protected(arg) if regex.match(`(^|[:+/])(main|master|trunk|production|release)$`, arg)

names_protected(arg) if regex.match(`^--(m.*|al.*|br.*)$`, arg)

configured(c) := c.git.args if c.git.subcommand == "config"

configured(c) := [] if c.git.subcommand != "config"

executing := `^(core|alias|diff|filter|credential|include|includeif|protocol|gpg|pager|sequence|merge|mergetool|difftool|url|http|remote|uploadpack|receive|ssh|interactive|browser|man|help|web|init|safe)\.`

skips_hooks(_, arg) if regex.match(`^--no-veri(f|fy)?$`, arg)

skips_hooks("commit", arg) if regex.match(`^-[aeiopqsvz]*n`, arg)
