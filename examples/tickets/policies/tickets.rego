# What sessions may do with tickets. What no rule here allows is asked about, as any
# tool of a server is.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "tickets.list"} if {
	ours
	input.tool.name == "mcp__tickets__list"
}

decisions contains {"effect": "allow", "rule": "tickets.create"} if {
	ours
	input.tool.name == "mcp__tickets__create"
	titled
}

decisions contains {
	"effect": "deny", "rule": "tickets.title", "reason": "a ticket needs a title of one line, up to 120 characters",
	"agent_message": "Give the ticket a title: one line that says what is wrong.",
} if {
	ours
	input.tool.name == "mcp__tickets__create"
	not titled
}

decisions contains {
	"effect": "ask", "rule": "tickets.close", "reason": "a ticket is closed by somebody's word",
	"ask": {"fields": ["/id"]},
} if {
	ours
	input.tool.name == "mcp__tickets__close"
}

decisions contains {
	"effect": "deny", "rule": "tickets.delete", "reason": "tickets are not deleted",
	"agent_message": "Tickets are kept. Close it instead, and say why.",
} if {
	ours
	input.tool.name == "mcp__tickets__delete"
}

# Of the server in this process, and of no other that has its name.
ours if {
	input.tool.kind == "sdk"
	input.tool.server == "tickets"
}

titled if {
	title := input.tool.input.title
	is_string(title)
	regex.match(`^[^\r\n]{1,120}$`, trim_space(title))
}
