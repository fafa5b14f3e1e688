# Commands that talk to other hosts.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "egress.raw", "severity": "critical",
	"reason": sprintf("%s opens a raw connection", [c.name.basename]),
	"agent_message": "Raw connections are forbidden here.",
} if {
	some c in input.bash.commands
	c.name.basename in {"nc", "ncat", "netcat", "socat", "telnet", "tftp", "cryptcat"}
}

decisions contains {
	"effect": "deny", "rule": "egress.raw", "severity": "critical",
	"reason": "the shell text opens a connection through /dev/tcp or /dev/udp",
} if {
	regex.match(`/dev/(tcp|udp)`, shell_text)
}

decisions contains {
	"effect": "deny", "rule": "egress.metadata", "severity": "critical",
	"reason": "the shell text names a cloud metadata address",
} if {
	regex.match(metadata, lower(shell_text))
}

decisions contains {
	"effect": "deny", "rule": "egress.metadata", "severity": "critical",
	"reason": "the address is a cloud metadata service",
} if {
	regex.match(metadata, input.url.host)
}

decisions contains {
	"effect": "deny", "rule": "egress.metadata", "severity": "critical",
	"reason": "the shell text names a cloud metadata address in another spelling",
} if {
	input.bash.features.metadata
}

decisions contains {
	"effect": "deny", "rule": "egress.dns", "severity": "high",
	"reason": sprintf("%s looks up a computed name", [c.name.basename]),
} if {
	some c in input.bash.commands
	c.name.basename in {"dig", "nslookup", "host", "drill", "ping", "ping6"}
	not c.static
}

decisions contains {
	"effect": "ask", "rule": "egress.network", "severity": "high",
	"reason": sprintf("%s reaches another host", [short(c.text)]),
} if {
	some c in input.bash.commands
	c.name.basename in {"curl", "wget", "ssh", "scp", "sftp", "rsync", "ftp", "aria2c", "http", "https", "xh", "dig", "nslookup", "host", "drill"}
	not satisfied
}

metadata := `169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|100\.100\.100\.200|fd00:ec2::254|2852039166|0xa9fea9fe|0251\.0376\.0251\.0376`
