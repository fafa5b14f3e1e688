# Where a call may read and write. Go resolved every path; the rules only look
# at what it found.
package gatehouse.permission

# The findings are looked at only where some path is not plain.
decisions contains d if {
	input.paths_plain == false
	count(input.paths) > 0
	some d in about_paths
}

about_paths contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("%s is protected (%s)", [short(p.raw), p.protected_by]),
	"agent_message": "This file is protected, under every name and by every tool. Work without it; of settings, .env.example says which there are.",
} if {
	some p in input.paths
	p.protected
	not shell_pattern(p)
}

about_paths contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("%s is another name of a protected file", [short(p.raw)]),
	"agent_message": "This file is protected, under every name and by every tool. Work without it.",
} if {
	some p in input.paths
	p.hardlink
	not p.protected
	not shell_pattern(p)
}

about_paths contains {
	"effect": "deny", "rule": "paths.protected", "severity": "critical",
	"reason": sprintf("the pattern %s meets %s", [short(p.raw), met(p)]),
	"agent_message": "Write a narrower pattern or the names themselves, such as *.go; patterns that also meet secret files are refused.",
} if {
	some p in input.paths
	shell_pattern(p)
	meets_secret(p)
	not p.arg in listed
}

# ls * tells names, which are no secrets.
about_paths contains {
	"effect": "ask", "rule": "paths.names", "severity": "low",
	"reason": sprintf("the pattern %s meets %s, and its name or size is shown", [short(p.raw), met(p)]),
	"agent_message": "Use ls without a pattern, or a narrower one such as *.go, which no secret file meets.",
} if {
	some p in input.paths
	shell_pattern(p)
	meets_secret(p)
	p.arg in listed
	not satisfied
}

shell_pattern(p) if {
	input.tool.name == "Bash"
	not is_null(p.glob)
}

meets_secret(p) if true in {p.protected, p.hardlink, p.glob.matches_protected}

met(p) := "what may be a secret file" if p.glob.protected == ""

met(p) := short(sprintf("%s (%s)", [trim_prefix(p.glob.protected, sprintf("%s/", [input.session.cwd])), p.protected_by])) if {
	not is_null(p.glob)
	p.glob.protected != ""
}

# patterns that programs are given which read no contents, or only count them;
# one that spells a secret is not among them
listed := {p.arg |
	some c in input.bash.commands
	names_only(c)
	some a in c.args
	p := a.path
	p.mode == "read"
	p.protected_by != "pattern"
}

names_only(c) if c.name.basename in {"ls", "du", "stat", "wc"}

about_paths contains {
	"effect": "deny", "rule": "paths.write_outside", "severity": "high",
	"reason": sprintf("writes %s, which is outside the workspace", [short(p.raw)]),
	"agent_message": sprintf("Write inside the workspace only: below %s.", [short(concat(", ", input.session.roots))]),
} if {
	some p in input.paths
	p.mode == "write"
	p.resolved
	not p.inside
	p.abs != "/dev/null"
}

about_paths contains {
	"effect": "ask", "rule": "paths.unresolved", "severity": "medium",
	"reason": leads_nowhere(p),
	"agent_message": "Give a plain path inside the workspace, without odd characters.",
} if {
	input.tool.name != "Bash"
	some p in input.paths
	not p.resolved
}

about_paths contains {
	"effect": "ask", "rule": "paths.write_unresolved", "severity": "medium",
	"reason": sprintf("writes %s, and nobody can tell where that leads", [short(p.raw)]),
	"agent_message": "Write the target out as a plain path inside the workspace, without variables.",
} if {
	input.tool.name == "Bash"
	some p in input.paths
	p.mode == "write"
	not p.resolved
}

about_paths contains {
	"effect": "ask", "rule": "paths.read_outside", "severity": "medium",
	"reason": sprintf("reads %s, which is outside the workspace", [short(p.raw)]),
	"agent_message": "Read inside the workspace; what lies outside is asked of a person. Say which file you need and why.",
} if {
	some p in input.paths
	p.mode == "read"
	leads_out(p)
	noticed(p)
	not satisfied
}

leads_out(p) if {
	p.resolved
	not p.inside
	p.abs != "/dev/null"
}

# a pattern outside is not looked into, so it is not certain
leads_out(p) if {
	input.tool.name == "Bash"
	not is_null(p.glob)
	not p.inside
}

about_paths contains {
	"effect": "ask", "rule": "paths.sensitive", "severity": "medium",
	"reason": sprintf("%s %s, which deserves a look (%s)", [p.mode, short(p.raw), p.sensitive_by]),
	"agent_message": "A person is asked about this file. Leave it as it is, or say what should change in it and why.",
} if {
	some p in input.paths
	p.sensitive
	not satisfied
}

leads_nowhere(p) := sprintf("nobody can tell where %s leads", [short(p.raw)]) if p.raw != ""

leads_nowhere(p) := "the call names no path, or not by a text" if p.raw == ""

about_paths contains {
	"effect": "ask", "rule": "paths.look_alike", "severity": "high",
	"reason": sprintf("%s %s", [short(p.raw), odd_letters[flag]]),
	"agent_message": "Spell the path with plain letters, as it is listed by Glob or ls.",
} if {
	some p in input.paths
	some flag in p.flags
	odd_letters[flag]
}

odd_letters := {
	"mixed_script": "mixes letters of several alphabets in one word, so it may not be what it looks like",
	"control": "holds a control character, such as a new line, a tab or a NUL",
	"invisible": "holds characters nobody sees",
}

# A word of a shell command need not be a path; one that leads to something is.
noticed(_) if input.tool.name != "Bash"

noticed(p) if p.exists

# Lists of tools stand where they are used: written out they are looked up in an
# index, by a name they would be worked out anew for each call.
readers := {"Glob", "Grep", "LS", "NotebookRead", "Read"}
