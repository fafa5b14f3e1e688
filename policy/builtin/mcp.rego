# Tools of MCP servers. They ask unless somebody allowed them by name; what a
# server says of its own tools, such as readOnlyHint, counts for nothing. Those of
# servers in this process (kind sdk) are no different, but that only what a session
# was given has that kind.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "mcp.undeclared", "severity": "high",
	"reason": sprintf("%s is no tool of a server this session was given", [short(input.tool.name)]),
	"agent_message": "Use only tools of the MCP servers of this session; others are not there, however they are called.",
} if {
	input.tool.kind == "mcp"
	input.session.mcp_servers_known == true
	not input.tool.server in input.session.mcp_servers
}
