# MCP servers of the owner's own settings ("user", "local"), of a trusted repository
# ("project"), and those of this process: the ones this program was configured with
# ("gatehouse") and its plugins' ("plugin"). Each is one decision; a refused one is
# left out.
package gatehouse.admission

# Who configured this program meant its sessions, so no further grant is asked for,
# also where nobody watches. Each call of their tools is judged.
decisions contains {"effect": "allow", "rule": "admission.server_inproc"} if {
	server_inproc
	input.profile in {"ci", "dev", "none", "readonly"}
}

server_inproc if {
	input.action == "mcp_server"
	input.mcp_server.source in {"gatehouse", "plugin"}
}

# No call of their tools would run there: what they say of themselves need not be read.
decisions contains {
	"effect": "deny", "rule": "admission.server", "severity": "high",
	"reason": never(sprintf("MCP server %q of this process in profile locked", [short(input.mcp_server.name)]), "admission.server", "the profile only reads the workspace; another one has it, as in: profile = \"dev\""),
} if {
	server_inproc
	input.profile == "locked"
}

decisions contains {"effect": "allow", "rule": "admission.server_owner"} if {
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
# What this process itself holds is its owner's to think of.
server_starts_sessions if {
	not server_inproc
	starts_sessions(input.mcp_server.command, input.mcp_server.args)
}

starts_sessions(command, args) if {
	regex.match(`(?i)(^|[/\\])gatehouse([-_.]?v?[0-9][0-9a-z._-]*)?(\.exe)?$`, command)
	not args[0] in {"check", "demo", "help", "version"}
}

# Under its other name the program does nothing else, whatever its arguments are.
starts_sessions(command, args) if {
	words := concat(" ", array.concat([command], args))
	regex.match(`(?i)(^|[\s"'=/\\;&|(])mpm-session-server([-_.]?v?[0-9][0-9a-z._-]*)?(\.exe)?(["'\s;&|)]|$)`, words)
}

starts_sessions(command, args) if {
	words := concat(" ", array.concat([command], args))
	regex.match(`(?i)(^|[\s"'=/\\;&|(])gatehouse([-_.]?v?[0-9][0-9a-z._-]*)?(\.exe)?["']?\s+["']?(serve|run)\b`, words)
}

decisions contains {
	"effect": "deny", "rule": "admission.server_self", "severity": "high",
	"reason": never(sprintf("MCP server %q of the caller", [short(server.name)]), "admission.server_self", "a session is not handed a server that starts sessions; leave it out of mcpServers"),
} if {
	opens_session
	some server in input.request.mcp_servers
	starts_sessions(server.command, server.args)
}

decisions contains {
	"effect": "deny", "rule": "admission.server_self", "severity": "high",
	"reason": never(sprintf("MCP server %q", [short(input.mcp_server.name)]), "admission.server_self", "a session is not handed a server that starts sessions"),
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
	not server_inproc
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
	"reason": never(sprintf("MCP server %q of the repository, which sets %q,", [short(input.mcp_server.name), short(name)]), "admission.server_env", "the variable can load code or redirect; to have the server all the same, add it to your own settings: claude mcp add"),
} if {
	input.action == "mcp_server"
	input.mcp_server.source == "project"
	some name in input.mcp_server.env
	env_never(name)
}
