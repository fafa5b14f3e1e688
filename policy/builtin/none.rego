# Profile none: grants nothing and keeps only what guards the gate itself, as a
# base for a strict set of one's own. Secrets, devices and other hosts are that
# set's to think of.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("%s is protected (%s)", [short(p.raw), p.protected_by]),
	"agent_message": "This file decides what sessions may do and is not written from one. Say what should change in it.",
} if {
	some p in input.paths
	p.mode == "write"
	p.protected
	not p.protected_by in other_kinds
}

decisions contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("%s is another name of a protected file", [short(p.raw)]),
	"agent_message": "This file decides what sessions may do and is not written from one. Say what should change in it.",
} if {
	some p in input.paths
	p.mode == "write"
	p.hardlink
}

decisions contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("%s is protected (%s)", [short(p.raw), p.protected_by]),
	"agent_message": "The keys and records of Gatehouse are not read from a session. Ask the user, who can (gatehouse audit show, gatehouse session show).",
} if {
	some p in input.paths
	p.protected_by == "gatehouse_secret"
}

# protections that are not the gate's; a kind that is not listed guards the gate
other_kinds := {
	"account_passwords", "authorized_keys", "autostart", "aws", "azure", "cron", "docker_login", "editor_tasks", "env_file", "gcloud",
	"github_cli", "gnupg", "kube", "loader", "login_file", "password_store", "pattern", "private_key", "privilege", "process_memory",
	"service_unit", "shell_start", "ssh",
}
