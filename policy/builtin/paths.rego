# Where a call may read and write. Go resolved every path; the rules only look
# at what it found.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("%s is protected (%s)", [short(p.raw), p.protected_by]),
	"agent_message": "This file is protected. Work without it and do not look for another way to it.",
} if {
	some p in input.paths
	p.protected
}

decisions contains {
	"effect": "deny", "rule": "paths.write_outside", "severity": "high",
	"reason": sprintf("writes %s, which is outside the workspace", [short(p.raw)]),
	"agent_message": "Write inside the workspace only.",
} if {
	some p in input.paths
	p.mode == "write"
	p.resolved
	not p.inside
}

decisions contains {
	"effect": "ask", "rule": "paths.unresolved", "severity": "medium",
	"reason": sprintf("nobody can tell where %s leads", [short(p.raw)]),
} if {
	some p in input.paths
	input.tool.name != "Bash"
	not p.resolved
}

decisions contains {
	"effect": "ask", "rule": "paths.write_unresolved", "severity": "medium",
	"reason": sprintf("writes %s, and nobody can tell where that leads", [short(p.raw)]),
} if {
	some p in input.paths
	input.tool.name == "Bash"
	p.mode == "write"
	not p.resolved
}

decisions contains {
	"effect": "ask", "rule": "paths.read_outside", "severity": "medium",
	"reason": sprintf("reads %s, which is outside the workspace", [short(p.raw)]),
} if {
	some p in input.paths
	p.mode == "read"
	p.resolved
	not p.inside
	noticed(p)
	not satisfied
}

decisions contains {
	"effect": "ask", "rule": "paths.sensitive", "severity": "medium",
	"reason": sprintf("%s %s, which deserves a look (%s)", [p.mode, short(p.raw), p.sensitive_by]),
} if {
	some p in input.paths
	p.sensitive
	not satisfied
}

decisions contains {
	"effect": "ask", "rule": "plan.write", "severity": "low",
	"reason": "the session is in plan mode, in which nothing is changed",
} if {
	input.session.mode == "plan"
	input.tool.name in editors
}

# A word of a shell command need not be a path; one that leads to something is.
noticed(_) if input.tool.name != "Bash"

noticed(p) if p.exists

editors := {"Edit", "MultiEdit", "NotebookEdit", "Write"}

readers := {"Glob", "Grep", "LS", "NotebookRead", "Read"}

# every path of the call is known, inside and nobody's secret
paths_plain if {
	count(input.paths) > 0
	every p in input.paths {
		p.resolved
		p.inside
		not p.protected
		not p.sensitive
	}
}
