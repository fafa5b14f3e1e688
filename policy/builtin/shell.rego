# Dangerous shell commands. Every command of a text is looked at, also behind
# env, timeout, xargs, sudo, find -exec and sh -c; the raw text is searched as
# well, for what could not be analysed.
package gatehouse.permission

shell_text := input.tool.input.command if input.tool.name == "Bash"

decisions contains {
	"effect": "ask", "rule": "shell.unanalysed", "severity": "medium",
	"reason": sprintf("the shell text cannot be judged: %s", [substring(input.bash.reason, 0, 100)]),
	"agent_message": "Write the command plainly: no eval, no code handed to an interpreter, no command names from variables.",
} if {
	input.tool.name == "Bash"
	not input.bash.ok
}

decisions contains {
	"effect": "deny", "rule": "shell.privilege", "severity": "critical",
	"reason": sprintf("%s asks for other rights", [c.name.basename]),
	"agent_message": "Work with the rights you have.",
} if {
	some c in input.bash.commands
	c.name.basename in {"sudo", "su", "doas", "pkexec", "nsenter", "runuser", "gosu", "run0", "setpriv", "chroot"}
}

decisions contains {
	"effect": "deny", "rule": "shell.privilege", "severity": "critical",
	"reason": "starts a container with the rights of the host",
} if {
	some c in input.bash.commands
	c.name.basename in {"docker", "podman", "nerdctl"}
	some a in c.args
	regex.match(`^(--privileged|--pid=host|--cap-add|--userns=host|--device)`, a.value)
}

decisions contains {
	"effect": "deny", "rule": "shell.own_session", "severity": "critical",
	"reason": sprintf("%s would start or steer a session from within one", [c.name.basename]),
} if {
	some c in input.bash.commands
	c.name.basename in {"gatehouse", "claude"}
}

decisions contains {
	"effect": "deny", "rule": "shell.persistence", "severity": "high",
	"reason": sprintf("%s starts programs later, when nobody looks", [c.name.basename]),
} if {
	some c in input.bash.commands
	c.name.basename in {"crontab", "launchctl", "at", "batch", "schtasks"}
}

decisions contains {
	"effect": "deny", "rule": "shell.persistence", "severity": "high",
	"reason": "systemctl starts programs later, when nobody looks",
} if {
	some c in input.bash.commands
	c.name.basename == "systemctl"
	some a in c.args
	a.value in {"enable", "link", "edit", "start", "restart"}
}

decisions contains {
	"effect": "ask", "rule": "shell.publish", "severity": "high",
	"reason": sprintf("%s publishes", [short(c.text)]),
} if {
	some c in input.bash.commands
	publishes[c.name.basename] in {a.value | some a in c.args}
	not satisfied
}

publishes := {
	"npm": "publish", "pnpm": "publish", "yarn": "publish", "cargo": "publish", "gem": "push",
	"twine": "upload", "docker": "push", "podman": "push", "gh": "release", "poetry": "publish", "uv": "publish",
}

decisions contains {
	"effect": "ask", "rule": "shell.container", "severity": "medium",
	"reason": sprintf("%s runs a container", [c.name.basename]),
} if {
	some c in input.bash.commands
	c.name.basename in {"docker", "podman", "nerdctl"}
	some a in c.args
	a.value in {"run", "exec", "compose"}
	not satisfied
}
