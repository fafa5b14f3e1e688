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
	some key in array.concat(c.git.config, configured(c))
	regex.match(executing, lower(key))
}

decisions contains {
	"effect": "deny", "rule": "git.config", "severity": "critical",
	"reason": sprintf("%s makes git start another program", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.name == "git"
	some a in array.concat(c.git.globals, c.git.args)
	regex.match(`^--(exec-path=|upload-pack|receive-pack|exec=|open-files-in-pager|extcmd|template)`, a)
}

decisions contains {
	"effect": "deny", "rule": "git.no_verify", "severity": "high",
	"reason": sprintf("%s leaves out the checks of this repository", [short(c.text)]),
	"agent_message": "Let the hooks run and repair what they find.",
} if {
	some c in input.bash.commands
	c.name == "git"
	some a in c.git.args
	skips_hooks(c.git.subcommand, a)
}

forces(args) if {
	some a in args
	regex.match(`^(-[a-zA-Z]*f[a-zA-Z]*|--force.*|--mirror|--delete|-d|\+.*|:.*)$`, a)
}

names_protected(arg) if regex.match(`(^|[:+/])(main|master|trunk|production|release)$`, arg)

names_protected(arg) if arg in {"--mirror", "--all"}

configured(c) := c.git.args if c.git.subcommand == "config"

configured(c) := [] if c.git.subcommand != "config"

executing := `^(core|alias|diff|filter|credential|include|includeif|protocol|gpg|pager|sequence|merge|mergetool|difftool|url|http|remote|uploadpack|receive|ssh|interactive|browser|man|help|web|init|safe)\.`

skips_hooks(_, arg) if arg == "--no-verify"

skips_hooks("commit", arg) if regex.match(`^-[aeiopqsvz]*n`, arg)
