# What leaves for other hosts.
package gatehouse.permission

about.raw contains {
	"effect": "deny", "rule": "egress.raw", "severity": "critical",
	"reason": sprintf("%s opens a raw connection", [c.name.basename]),
	"agent_message": "Raw connections are forbidden here. To fetch a page use the WebFetch tool or curl, of which a person is asked.",
} if {
	some c in input.bash.commands
	"raw" in families[c.name.basename]
}

about.tls contains {
	"effect": "deny", "rule": "egress.raw", "severity": "critical",
	"reason": "openssl opens a raw connection",
	"agent_message": "Raw connections are forbidden here. To fetch a page use the WebFetch tool or curl, of which a person is asked.",
} if {
	some c in input.bash.commands
	some a in c.args
	a.value in {"s_client", "s_server"}
}

no_socket := {
	"effect": "deny", "rule": "egress.raw", "severity": "critical",
	"reason": "the shell text opens a connection through /dev/tcp or /dev/udp",
	"agent_message": "Raw connections are forbidden here. To fetch a page use the WebFetch tool or curl, of which a person is asked.",
}

about_paths contains no_socket if {
	some p in input.paths
	strings.any_prefix_match(p.raw, ["/dev/tcp/", "/dev/udp/"])
}

no_metadata := {
	"effect": "deny", "rule": "egress.metadata", "severity": "critical",
	"reason": "this reaches a cloud metadata service",
	"agent_message": "The metadata service hands out the machine's credentials and is never reachable from here. Work without it.",
}

decisions contains no_metadata if input.bash.features.metadata == true

decisions contains no_metadata if input.url.ip_kind == "metadata"

about.network contains no_metadata if regex.match(metadata, lower(shell_text))

about_raw contains no_metadata if regex.match(metadata, lower(shell_text))

# other services than that at 169.254.169.254, which facts find in any spelling
metadata := `169\.254\.1(69\.254|70\.2)\b|metadata\.goog|100\.100\.100\.200|fd00:ec2::254|fd20:ce::254`

decisions contains {
	"effect": "ask", "rule": "egress.private", "severity": "high",
	"reason": sprintf("%s is an address of this machine or its own network", [short(input.url.host)]),
	"agent_message": "A person is asked before local addresses are fetched. A public page needs no such question where the caller listed its domain.",
} if {
	input.url.ip_kind in {"loopback", "private", "link_local", "unspecified", "multicast"}
	not satisfied
}

about.names contains {
	"effect": "deny", "rule": "egress.dns", "severity": "high",
	"reason": sprintf("%s looks up a computed name", [c.name.basename]),
	"agent_message": "Write the host name out. Names made from variables or substitutions are refused, as they can carry data away.",
} if {
	some c in input.bash.commands
	"names" in families[c.name.basename]
	not c.static
}

about.network contains {
	"effect": "ask", "rule": "egress.network", "severity": "high",
	"reason": sprintf("%s reaches %s", [short(c.text), reached(c)]),
	"agent_message": "A person is asked before anything is reached over the network. Use what is in the workspace, or say which address you need and why; a rule such as Bash(curl https://example.com/*) of the caller answers it for one address.",
} if {
	some c in input.bash.commands
	"network" in families[c.name.basename]
	not satisfied
}

reached(c) := "a service of this machine" if regex.match(local_host, c.text)

reached(c) := "another host" if not regex.match(local_host, c.text)

local_host := `(?i)(^|[ /@])(localhost|127(\.[0-9]+){3}|\[::1\])([ :/]|$)`

about.tunnel contains {
	"effect": "deny", "rule": "egress.tunnel", "severity": "critical",
	"reason": sprintf("%s opens this machine to others", [c.name.basename]),
	"agent_message": "Tunnels into this machine are forbidden. Test against localhost.",
} if {
	some c in input.bash.commands
	"tunnel" in families[c.name.basename]
}

about.network contains {
	"effect": "deny", "rule": "egress.tunnel", "severity": "critical",
	"reason": sprintf("%s opens this machine to others", [short(c.text)]),
	"agent_message": "Port forwarding is forbidden. A plain ssh host command is asked of a person.",
} if {
	some c in input.bash.commands
	c.name.basename == "ssh"
	some a in c.args
	regex.match(`^-[46AaCfGgKkMNnqsTtVvXxYy]*[RDLWw]`, a.value)
}
