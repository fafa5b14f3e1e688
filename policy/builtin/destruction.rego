# Commands that delete more than a file of the workspace.
package gatehouse.permission

about.remove contains {
	"effect": "deny", "rule": "destruction.rm", "severity": "critical",
	"reason": sprintf("%s would delete the workspace, the home folder or what lies outside", [short(c.text)]),
	"agent_message": "Delete only single folders inside the workspace, by their plain name, as in: rm -r build; a person is asked then.",
} if {
	some c in input.bash.commands
	removes_tree(c)
	some a in c.args
	reaches_too_far(a)
}

about.remove contains {
	"effect": "deny", "rule": "destruction.rm", "severity": "critical",
	"reason": sprintf("%s: nobody can tell what that deletes", [short(c.text)]),
	"agent_message": "Name what is to be deleted plainly, without variables, patterns or input of xargs, as in: rm -r build; a person is asked then.",
} if {
	some c in input.bash.commands
	removes_tree(c)
	some a in c.args
	unknown_target(a)
}

about.remove contains {
	"effect": "ask", "rule": "destruction.rm_recursive", "severity": "high",
	"reason": sprintf("%s deletes a whole folder", [short(c.text)]),
	"agent_message": "A person is asked before a folder is deleted. Leave it and say that it can go, or name what matters in it file by file.",
} if {
	some c in input.bash.commands
	removes_tree(c)
	not satisfied
}

about.remove contains {
	"effect": "ask", "rule": "destruction.rm_unknown", "severity": "high",
	"reason": sprintf("%s: nobody can tell what that deletes", [short(c.text)]),
	"agent_message": "Name each file that is to be deleted plainly, without variables, patterns or input of xargs.",
} if {
	some c in input.bash.commands
	"remove" in families[c.name.basename]
	some a in c.args
	not a.static
}

about.filesystem contains {
	"effect": "deny", "rule": "destruction.device", "severity": "critical",
	"reason": sprintf("%s writes to a device or makes a file system", [short(c.text)]),
	"agent_message": "Devices and file systems are never touched from here; work with files of the workspace.",
} if {
	some c in input.bash.commands
	"filesystem" in families[c.name.basename]
}

about.device contains {
	"effect": "deny", "rule": "destruction.device", "severity": "critical",
	"reason": sprintf("%s writes to a device or outside the workspace", [short(c.text)]),
	"agent_message": "Let of= name a file inside the workspace, or /dev/null.",
} if {
	some c in input.bash.commands
	some a in c.args
	startswith(a.value, "of=")
	not a.value in {"of=/dev/null", "of=/dev/stdout"}

	# gatehouse:ignore nullable a word that names no path is not inside either
	not a.path.inside
}

about.host contains {
	"effect": "deny", "rule": "destruction.host", "severity": "critical",
	"reason": sprintf("%s ends everything on this machine", [short(c.text)]),
	"agent_message": "The machine is never stopped from here; say that a restart is needed.",
} if {
	some c in input.bash.commands
	"host" in families[c.name.basename]
}

about.service contains {
	"effect": "deny", "rule": "destruction.host", "severity": "critical",
	"reason": sprintf("%s ends everything on this machine", [short(c.text)]),
	"agent_message": "The machine is never stopped from here; say that a restart is needed.",
} if {
	some c in input.bash.commands
	c.name.basename == "systemctl"
	some a in c.args
	a.value in {"poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "rescue", "emergency", "isolate"}
}

about.process contains {
	"effect": "deny", "rule": "destruction.processes", "severity": "critical",
	"reason": sprintf("%s ends every process of this account", [short(c.text)]),
	"agent_message": "End only what this session started: kill %1 ends a job of the same command; a person is asked about a process by its number.",
} if {
	some c in input.bash.commands
	ends_everything(c)
}

ends_everything(c) if c.name.basename == "killall5"

# the last word of kill is a process; -1 there means all of them
ends_everything(c) if {
	c.name.basename == "kill"
	count(c.args) > 1
	some a in c.args
	a.value in {"-1", "0", "1"}
	a.value == c.args[count(c.args) - 1].value
}

ends_everything(c) if {
	c.name.basename == "kill"
	some i, a in c.args
	a.value == "--"
	next_word(c, i) == "-1"
}

ends_everything(c) if {
	c.name.basename in {"pkill", "killall"}
	some a in c.args
	regex.match(`^(-[a-zA-Z0-9]*[uU].*|--e?uid.*|--user.*|\.\*?|\^|)$`, a.value)
}

about.process contains {
	"effect": "ask", "rule": "destruction.process", "severity": "medium",
	"reason": sprintf("%s ends processes that may not be this session's", [short(c.text)]),
	"agent_message": "A person is asked first. End jobs of the same command with kill %1 instead.",
} if {
	some c in input.bash.commands
	"process" in families[c.name.basename]
	some a in c.args
	not regex.match(`^(-l|-L|-[A-Z0-9]+|%[0-9]+)$`, a.value)
	not satisfied
}

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
