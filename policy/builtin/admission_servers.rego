# MCP servers of the owner's own settings ("user", "local") and of a trusted
# repository ("project"). Each is one decision; a refused one is left out.
package gatehouse.admission

decisions contains {"effect": "allow", "rule": "admission.server"} if {
	server_known
	server_profile
	not server_starts_sessions
}

server_known if {
	input.action == "mcp_server"
	input.mcp_server.source in {"user", "local"}
}

server_known if {
	input.action == "mcp_server"
	input.mcp_server.source == "project"
	input.trusted
}

server_profile if input.profile in {"dev", "readonly"}

server_profile if {
	input.profile == "ci"
	granted("mcpServers")
}

# A session that could start sessions would run them beside this server's limits.
# The engine keeps this program itself out by its file, and what a session
# starts refuses to; this rule sees other copies of it, so the reader is told.
server_starts_sessions if {
	regex.match(`(?i)(^|[/\\])gatehouse([-_.]?v?[0-9][0-9a-z._-]*)?(\.exe)?$`, input.mcp_server.command)
	not input.mcp_server.args[0] in {"check", "demo", "help", "version"}
}

server_starts_sessions if {
	words := concat(" ", array.concat([input.mcp_server.command], input.mcp_server.args))
	regex.match(`(?i)(^|[\s"'=/\\;&|(])gatehouse([-_.]?v?[0-9][0-9a-z._-]*)?(\.exe)?["']?\s+["']?(serve|run)\b`, words)
}

decisions contains {
	"effect": "deny", "rule": "admission.server_self", "severity": "high",
	"reason": "a session is not handed a server that starts sessions (rule admission.server_self); there is no grant for it",
} if {
	input.action == "mcp_server"
	server_starts_sessions
}

decisions contains {
	"effect": "deny", "rule": "admission.server", "severity": "high",
	"reason": "a repository's MCP servers start only in a trusted root (rule admission.server); list the folder in [workspace] trusted",
} if {
	input.action == "mcp_server"
	not server_known
}

decisions contains {
	"effect": "deny", "rule": "admission.server", "severity": "high",
	"reason": needs(sprintf("MCP server %q of the owner in profile ci", [short(input.mcp_server.name)]), "admission.server", "mcpServers"),
} if {
	server_known
	input.profile == "ci"
	not granted("mcpServers")
}

decisions contains {
	"effect": "deny", "rule": "admission.server", "severity": "high",
	"reason": "profile locked starts no MCP servers of the owner (rule admission.server); another profile does, as in: profile = \"dev\"",
} if {
	server_known
	input.profile == "locked"
}

# A repository's server may not change what its command loads or where it goes.
decisions contains {
	"effect": "deny", "rule": "admission.server_env", "severity": "high",
	"reason": sprintf("MCP server %q of the repository sets %q, which can load code or redirect (rule admission.server_env); to have it all the same, add the server to your own settings: claude mcp add", [short(input.mcp_server.name), short(name)]),
} if {
	input.action == "mcp_server"
	input.mcp_server.source == "project"
	some name in input.mcp_server.env
	env_never(name)
}
