# Shell commands that ask for other rights, outlive the session, reach the
# session's own gate or cannot be understood.
package gatehouse.permission

shell_text := input.tool.input.command if input.tool.name == "Bash"

# What could not be analysed never runs unasked. Facts tell it for eval, code for
# an interpreter, a decoder piped into a shell, names from variables, control and
# invisible characters, odd blanks, more than 20 commands and text that is too long.
decisions contains {
	"effect": "ask", "rule": "shell.unanalysed", "severity": "medium",
	"reason": sprintf("the shell text cannot be judged: %s", [substring(input.bash.reason, 0, 100)]),
	"agent_message": "Write the command plainly: no eval, no code handed to an interpreter (put it into a file of the workspace and run that), no command names from variables, at most 20 commands, plain blanks and letters.",
} if {
	input.tool.name == "Bash"
	input.bash.ok == false
}

decisions contains {
	"effect": "ask", "rule": "shell.look_alike", "severity": "high",
	"reason": "the shell text mixes letters of several alphabets in one word, so it may not be what it looks like",
	"agent_message": "Spell every word with letters of one alphabet; commands and paths here are plain ASCII.",
} if {
	input.tool.name == "Bash"
	input.bash.features.mixed_script == true
}

# No rule of the caller answers this: one that names a command speaks of it in the sandbox.
decisions contains {
	"effect": "ask", "rule": "shell.unsandboxed", "severity": "high",
	"reason": "the call leaves the sandbox (dangerouslyDisableSandbox)",
	"agent_message": "Run it without dangerouslyDisableSandbox first. If the sandbox stops what is needed, say what it stopped, and a person will decide.",
} if {
	input.tool.name == "Bash"
	object.get(input.tool.input, "dangerouslyDisableSandbox", false) != false
}

about.privilege contains {
	"effect": "deny", "rule": "shell.privilege", "severity": "critical",
	"reason": sprintf("%s asks for other rights", [c.name.basename]),
	"agent_message": "Run the command without it: sessions work with the rights they have. If that is not enough, say what an administrator has to do.",
} if {
	some c in input.bash.commands
	"privilege" in families[c.name.basename]
}

about.rights contains {
	"effect": "deny", "rule": "shell.privilege", "severity": "critical",
	"reason": sprintf("%s lets a program run with its owner's rights", [short(c.text)]),
	"agent_message": "Use chmod +x or a mode without set-user-ID and set-group-ID, such as 755.",
} if {
	some c in input.bash.commands
	c.name.basename == "chmod"
	some a in c.args
	regex.match(`^([ugoa]*[+=][rwxXt]*s.*|0?[4267][0-7]{3})$`, a.value)
}

about.persistence contains {
	"effect": "deny", "rule": "shell.persistence", "severity": "high",
	"reason": sprintf("%s starts programs later, when nobody looks", [c.name.basename]),
	"agent_message": "Run the program now, in this session; say what should run later and a person will schedule it.",
} if {
	some c in input.bash.commands
	"persistence" in families[c.name.basename]
}

about.service contains {
	"effect": "deny", "rule": "shell.persistence", "severity": "high",
	"reason": sprintf("%s starts programs later, when nobody looks", [short(c.text)]),
	"agent_message": "Only systemctl status, show, cat and list-units are allowed; say which service should change.",
} if {
	some c in input.bash.commands
	"service" in families[c.name.basename]
	some a in c.args
	a.value in {"enable", "reenable", "link", "edit", "start", "restart", "reload-or-restart", "set-default", "enable-linger", "daemon-reload"}
}

about.environment contains {
	"effect": "ask", "rule": "shell.environment", "severity": "medium",
	"reason": "shows every environment variable, some of which may be secrets",
	"agent_message": "A person is asked before the environment is shown, whole or by the variable. Say which setting you need and why; node --version and which go tell of tools without it.",
} if {
	some c in input.bash.commands
	prints_environment(c)
	not satisfied
}

prints_environment(c) if c.name.basename == "printenv"

prints_environment(c) if {
	c.name.basename == "env"
	every a in c.args {
		a.flag
	}
}

# A program that hands on the contents of files is told by nobody which, if their
# names are only known when it runs.
about.contents contains {
	"effect": "ask", "rule": "shell.computed", "severity": "medium",
	"reason": sprintf("%s: which file that is, is only known when it runs", [short(c.text)]),
	"agent_message": "Write the file's name out, without variables and substitutions; run once for each file.",
} if {
	some c in input.bash.commands
	"contents" in families[c.name.basename]
	some a in c.args
	computed(a)
}

about.contents contains {
	"effect": "ask", "rule": "shell.computed", "severity": "medium",
	"reason": sprintf("%s: which file that is, is only known when it runs", [short(c.text)]),
	"agent_message": "Write the file's name out, without variables and substitutions; run once for each file.",
} if {
	some c in input.bash.commands
	"contents" in families[c.name.basename]
	some r in c.redirects
	r.static == false
	r.writes == false
	is_null(r.heredoc)
	r.op != "<<<"
}

# patterns, braces and ~ are resolved by facts
computed(a) if {
	a.static == false
	a.glob == false
	a.brace == false
	a.tilde == false
}
