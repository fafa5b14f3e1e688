# The session's own gate is neither started, steered nor ended from within. These
# rules hold in every profile.
package gatehouse.permission

about.session contains {
	"effect": "deny", "rule": "shell.own_session", "severity": "critical",
	"reason": sprintf("%s starts and steers sessions, which is not done from within one", [c.name.basename]),
	"agent_message": "Do the work in this session; use the Agent tool for a part of it. Sessions are started by the client only.",
} if {
	some c in input.bash.commands
	"session" in families[c.name.basename]
}

about.runner contains {
	"effect": "deny", "rule": "shell.own_session", "severity": "critical",
	"reason": sprintf("%s would start a session from within one", [short(c.text)]),
	"agent_message": "Do the work in this session; use the Agent tool for a part of it. Sessions are started by the client only.",
} if {
	some c in input.bash.commands
	some a in c.args
	startswith(lower(a.value), "@anthropic-ai/claude-code")
}

about.process contains {
	"effect": "deny", "rule": "shell.own_session", "severity": "critical",
	"reason": sprintf("%s would end this session or its gate", [short(c.text)]),
	"agent_message": "End only what this session started: kill %1 ends a job of the same command; a person is asked about a process by its number.",
} if {
	some c in input.bash.commands
	"process" in families[c.name.basename]
	some a in c.args
	regex.match(`(?i)gatehouse|claude|mpm-session`, a.value)
}
