# Decisions about tool calls. A rule adds one document to the set decisions; a
# rule that does not fire is no opinion. The strictest answer of all layers wins:
# halt, deny, ask, modify, allow. What nothing allows gets the default effect (ask).
#
# Every field of input is always there. policy eval --show-document prints them
# for a call of yours; a misspelt field does not load.
package gatehouse.permission

# A deny is final: nobody can answer it away. agent_message is what the model
# reads, so say what it may do instead.
decisions contains {
	"effect": "deny", "rule": "team.migrations",
	"reason": "migrations are written by hand",
	"agent_message": "Leave db/migrations alone and say what you would change.",
} if {
	some p in input.paths
	p.mode == "write"
	contains(p.real, "/db/migrations/")
}

# An ask waits for an answer; "approver": "human" means a person, not the client.
decisions contains {
	"effect": "ask", "rule": "team.release", "severity": "high",
	"reason": "a tag starts the release pipeline",
	"ask": {"approver": "human"},
} if {
	input.tool.name == "Bash"
	some c in input.bash.commands
	c.git.subcommand == "tag"
}

# An allow must cover the whole call: input.bash.ok, and every command of it.
# The list comes from data.toml, so that it can change without a change of rules.
decisions contains {"effect": "allow", "rule": "team.checks"} if {
	input.tool.name == "Bash"
	input.bash.ok
	every c in input.bash.commands {
		c.static
		c.text in data.cfg.checks
		count(c.env) == 0
		count(c.redirects) == 0
	}
}
