# Information that was read where few may read stays here: after such a read,
# whatever reaches other hosts asks, also where the caller allowed it.
package gatehouse.permission

# The label stays with the session: input.history.taint holds "read:private".
about_paths contains {
	"effect": "context", "rule": "flow.private",
	"context": ["What this call reads is private: from now on every command, page and MCP tool that can carry it to others is asked of a person."],
	"labels": {"read": "private"},
} if {
	some p in input.paths
	p.mode == "read"
	private(p)
	not p.protected # is denied
}

private(p) if p.sensitive

private(p) if {
	p.exists
	leads_out(p)
}

decisions contains {
	"effect": "ask", "rule": "flow.network", "severity": "high",
	"reason": "this session has read what is private, and this call can carry it to others",
	"agent_message": "This session has read private files, so a person is asked each time before other hosts are reached. Finish what works without them first.",
} if {
	"read:private" in input.history.taint
	reaches_others
}

reaches_others if input.tool.name in {"WebFetch", "WebSearch"}

reaches_others if input.tool.kind in {"mcp", "sdk"}

reaches_others if {
	input.tool.name == "Bash"
	some c in input.bash.commands
	reaching[families[c.name.basename][_]]
}

reaches_others if {
	input.tool.name == "Bash"
	some c in input.bash.commands
	c.git.network
}

reaches_others if {
	input.tool.name == "Bash"
	not input.bash.ok
}

reaching := {"network", "copy", "cloud", "names", "publish", "github"}
