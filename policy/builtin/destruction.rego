# Commands that destroy.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "destruction.rm", "severity": "critical",
	"reason": sprintf("%s would delete the workspace, the home folder or what lies outside", [short(c.text)]),
	"agent_message": "Delete only single folders inside the workspace, by their plain name.",
} if {
	some c in input.bash.commands
	removes_tree(c)
	some a in c.args
	reaches_too_far(a)
}

decisions contains {
	"effect": "deny", "rule": "destruction.rm", "severity": "critical",
	"reason": sprintf("%s: nobody can tell what that deletes", [short(c.text)]),
	"agent_message": "Name what is to be deleted plainly, without variables, patterns or cd.",
} if {
	some c in input.bash.commands
	removes_tree(c)
	some a in c.args
	unknown_target(a)
}

decisions contains {
	"effect": "deny", "rule": "destruction.find_delete", "severity": "critical",
	"reason": sprintf("%s would delete the workspace, what lies outside or what nobody can tell", [short(c.text)]),
	"agent_message": "Let find -delete start at a single folder inside the workspace, by its plain name.",
} if {
	some c in input.bash.commands
	c.name.basename == "find"
	"-delete" in {a.value | some a in c.args}
	find_goes_too_far(c)
}

find_goes_too_far(c) if {
	some a in c.args
	reaches_too_far(a)
}

find_goes_too_far(c) if {
	some a in c.args
	a.value == ""
	not a.static
}

# no starting point means the working folder
find_goes_too_far(c) if {
	words := [a.value | some a in c.args; not regex.match(`^-([HLP]|O[0-9])$`, a.value)]
	regex.match(`^[-(!]`, words[0])
}

decisions contains {
	"effect": "deny", "rule": "destruction.rm_text", "severity": "critical",
	"reason": "the shell text holds an rm -rf of a root or home folder",
} if {
	not input.bash.ok
	regex.match(`\brm\s+(-\S+\s+)*-[a-zA-Z]*[rR][a-zA-Z]*(\s+-\S+)*\s+["']?(/|~|\$HOME|\$\{HOME|\.\.)`, shell_text)
}

decisions contains {
	"effect": "ask", "rule": "destruction.rm_recursive", "severity": "high",
	"reason": sprintf("%s deletes a whole folder", [short(c.text)]),
} if {
	some c in input.bash.commands
	removes_tree(c)
	not satisfied
}

decisions contains {
	"effect": "ask", "rule": "destruction.rm_unknown", "severity": "high",
	"reason": sprintf("%s: nobody can tell what that deletes", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.name.basename in removers
	some a in c.args
	not a.static
}

decisions contains {
	"effect": "deny", "rule": "destruction.device", "severity": "critical",
	"reason": sprintf("%s writes to a device or makes a file system", [short(c.text)]),
} if {
	some c in input.bash.commands
	regex.match(`^(mkfs(\..*)?|mke2fs|wipefs|fdisk|sfdisk|parted|mkswap|blkdiscard)$`, c.name.basename)
}

decisions contains {
	"effect": "deny", "rule": "destruction.device", "severity": "critical",
	"reason": sprintf("%s writes to a device", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.name.basename == "dd"
	some a in c.args
	startswith(a.value, "of=")
	not a.value in {"of=/dev/null", "of=/dev/stdout"}
	not a.path.inside
}

decisions contains {
	"effect": "ask", "rule": "destruction.undo", "severity": "high",
	"reason": sprintf("%s cannot be undone", [short(c.text)]),
} if {
	some c in input.bash.commands
	irreversible(c)
	not satisfied
}

removers := {"rm", "rmdir", "shred", "unlink"}

removes_tree(c) if {
	c.name.basename == "rm"
	some a in c.args
	regex.match(`^(-[A-Za-z]*[rR][A-Za-z]*|--r.*)$`, a.value)
}

reaches_too_far(a) if {
	not is_null(a.path)
	a.path.resolved
	not a.path.inside
}

reaches_too_far(a) if {
	not is_null(a.path)
	a.path.is_root
}

unknown_target(a) if not a.static

unknown_target(a) if {
	not is_null(a.path)
	not a.path.resolved
}

irreversible(c) if {
	c.name.basename == "find"
	some a in c.args
	a.value == "-delete"
}

irreversible(c) if {
	c.name.basename in {"terraform", "tofu", "pulumi"}
	some a in c.args
	a.value in {"destroy", "apply"}
}

irreversible(c) if {
	c.name.basename in {"kubectl", "helm"}
	some a in c.args
	a.value in {"delete", "uninstall"}
}

irreversible(c) if {
	c.git.subcommand == "reset"
	"--hard" in c.git.args
}

irreversible(c) if c.git.subcommand in {"clean", "filter-branch", "filter-repo"}

irreversible(c) if c.name.basename in {"shred", "truncate"}
