# Applies the rows of rules.toml, which `gatehouse policy allow` and `gatehouse
# policy deny` write and which may be edited by hand. A row is read as Claude
# Code reads Tool(pattern):
#
#   tool = "Bash", pattern = "npm test*"       commands; * stands for any text
#   tool = "Read", pattern = "docs/**"         files, for every reading tool; "Edit" for every editing one
#   tool = "WebFetch", pattern = "domain:example.com"
#   tool = "mcp__tracker__search"              without a pattern: every call of that tool
#
# An allow counts only where rows cover every part of the call and all of it was
# understood. A deny or ask counts where it hits one part. The built-in denies
# and asks win over an allow here.
package gatehouse.permission

# Without its data this file would say nothing, and a deny of yours be gone.
decisions contains {
	"effect": "deny", "rule": "daily.data", "severity": "high",
	"reason": "daily.rego is in policy.paths, but rules.toml beside it is not in policy.data",
	"agent_message": "Nothing runs before the owner's rules are loaded. Say so, and stop.",
} if {
	not is_number(data.cfg.daily_version)
}

# Nor may a slip of the pen in a row go unseen.
decisions contains {
	"effect": "deny", "rule": "daily.row", "severity": "high",
	"reason": sprintf("row %d of rules.toml is not complete: want effect (allow, ask or deny), tool and, if any, pattern and folder as texts", [i + 1]),
	"agent_message": "Nothing runs before the owner's rules are corrected. Say so, and stop.",
} if {
	some i, row in data.cfg.daily_rules
	not daily_row_complete(row)
}

decisions contains {
	"effect": "deny", "rule": "daily.deny", "severity": "high",
	"reason": daily_reason(row), "labels": {"daily": daily_written(row)},
	"agent_message": sprintf("The owner of this machine does not want %s. Find another way.", [daily_written(row)]),
} if {
	some row in daily_rows
	row.effect == "deny"
	daily_hits(row)
}

decisions contains {
	"effect": "ask", "rule": "daily.ask",
	"reason": daily_reason(row), "labels": {"daily": daily_written(row)},
} if {
	some row in daily_rows
	row.effect == "ask"
	daily_hits(row)
}

decisions contains {"effect": "allow", "rule": "daily.allow"} if daily_allowed

# daily_rows are the rows that count in this session's folder.
daily_rows contains row if {
	some row in data.cfg.daily_rules
	object.get(row, "folder", "") == ""
}

daily_rows contains row if {
	some row in data.cfg.daily_rules
	folder := object.get(row, "folder", "")
	folder != ""
	startswith(concat("", [input.session.cwd, "/"]), concat("", [folder, "/"]))
}

daily_row_complete(row) if {
	row.effect in {"allow", "ask", "deny"}
	row.tool != ""
	every name in ["tool", "pattern", "folder", "reason"] {
		is_string(object.get(row, name, ""))
	}
}

daily_reason(row) := row.reason if object.get(row, "reason", "") != ""

daily_reason(row) := sprintf("rules.toml names %s", [daily_written(row)]) if object.get(row, "reason", "") == ""

daily_pattern(row) := pattern if {
	pattern := object.get(row, "pattern", "")
	pattern != "*"
}

# as in the CLI, a star alone is no pattern at all
daily_pattern(row) := "" if object.get(row, "pattern", "") == "*"

daily_written(row) := substring(sprintf("%s(%s)", [row.tool, daily_pattern(row)]), 0, 100) if daily_pattern(row) != ""

daily_written(row) := substring(row.tool, 0, 100) if daily_pattern(row) == ""

# daily_tool is the name rules use: Task is the older name of Agent.
daily_tool := "Agent" if input.tool.name == "Task"

daily_tool := input.tool.name if input.tool.name != "Task"

# daily_speaks: the row is about this tool at all.
daily_speaks(row) if row.tool == daily_tool

daily_speaks(row) if {
	row.tool == "Read"
	daily_pattern(row) != ""
	daily_tool in {"Grep", "Glob", "LS", "NotebookRead"}
}

daily_speaks(row) if {
	row.tool == "Edit"
	daily_pattern(row) != ""
	daily_tool in {"Write", "MultiEdit", "NotebookEdit"}
}

daily_speaks(row) if {
	daily_pattern(row) == ""
	input.tool.server != ""
	row.tool == concat("", ["mcp__", input.tool.server])
}

daily_speaks(row) if {
	daily_pattern(row) == ""
	input.tool.server != ""
	startswith(row.tool, concat("", ["mcp__", input.tool.server, "__"]))
	endswith(row.tool, "*")
	startswith(input.tool.name, trim_suffix(row.tool, "*"))
}

# --- allow: every part has to be covered ---

daily_grants contains row if {
	some row in daily_rows
	row.effect == "allow"
	daily_speaks(row)
}

# the whole tool
daily_allowed if {
	some row in daily_grants
	daily_pattern(row) == ""
	daily_tool != "Bash"
}

daily_allowed if {
	some row in daily_grants
	daily_pattern(row) == ""
	daily_tool == "Bash"
	input.bash.ok
}

# commands: nothing may happen beside them
daily_allowed if {
	daily_tool == "Bash"
	count(daily_grants) > 0
	input.bash.ok
	every name in ["arith", "assign", "background", "chdir", "cmdsubst", "control_flow", "function", "param", "procsubst"] {
		input.bash.features[name] == false
	}
	every c in input.bash.commands {
		daily_plain(c)
		daily_grants_command(c)
	}
	some c in input.bash.commands
	not c.wrapper
}

# the very program of that name, with no variable before it and no file opened by a redirection
daily_plain(c) if {
	c.static
	c.name.value == c.name.basename
	count(c.env) == 0
	every r in c.redirects {
		r.static
		is_null(r.path)
	}
}

daily_grants_command(c) if c.wrapper # starts the next command unchanged, and that one is covered too

daily_grants_command(c) if {
	some row in daily_grants
	daily_matches_command(daily_pattern(row), c.text)
}

# files: as they are written and where they lead
daily_allowed if {
	daily_tool != "Bash"
	input.paths_known
	count(input.paths) > 0
	every p in input.paths {
		p.resolved
		some row in daily_grants
		daily_matches_path(daily_pattern(row), p.abs)
		daily_matches_path(daily_pattern(row), p.real)
	}
}

daily_allowed if {
	some row in daily_grants
	some name in daily_names
	daily_matches_name(daily_pattern(row), name)
}

# --- deny and ask: one part is enough ---

daily_hits(row) if {
	daily_speaks(row)
	daily_pattern(row) == ""
}

daily_hits(row) if {
	daily_speaks(row)
	daily_tool == "Bash"
	some text in daily_texts
	daily_matches_command(daily_pattern(row), text)
}

daily_hits(row) if {
	daily_speaks(row)
	some p in input.paths
	some file in {p.abs, p.real}
	daily_matches_path(daily_pattern(row), file)
}

daily_hits(row) if {
	daily_speaks(row)
	some name in daily_names
	daily_matches_name(daily_pattern(row), name)
}

# a pattern nobody can apply to this tool denies the whole of it
daily_hits(row) if {
	daily_speaks(row)
	daily_pattern(row) != ""
	not daily_tool in {"Bash", "WebFetch", "Agent", "Skill"}
	not input.paths_known
}

# every way a command can be written: as it stands, by its base name, git without its options, and the raw text
daily_texts contains c.text if some c in input.bash.commands

daily_texts contains trim_space(concat(" ", array.concat([c.name.basename], [a.value | some a in c.args]))) if {
	some c in input.bash.commands
}

daily_texts contains trim_space(concat(" ", array.concat(["git", c.git.subcommand], c.git.args))) if {
	some c in input.bash.commands
	not is_null(c.git)
	c.git.subcommand != ""
}

daily_texts contains trim_space(input.tool.input.command) if daily_tool == "Bash"

# --- patterns ---

# "git push:*": by whole words
daily_matches_command(pattern, text) if {
	endswith(pattern, ":*")
	startswith(concat("", [text, " "]), concat("", [trim_suffix(pattern, ":*"), " "]))
}

daily_matches_command(pattern, text) if {
	not contains(pattern, "*")
	text == pattern
}

# "git push *" is "git push" too
daily_matches_command(pattern, text) if {
	endswith(pattern, " *")
	text == trim_suffix(pattern, " *")
}

daily_matches_command(pattern, text) if {
	contains(pattern, "*")
	not endswith(pattern, ":*")
	startswith(text, split(pattern, "*")[0])
	glob.match(replace(glob.quote_meta(pattern), `\*`, "*"), null, text)
}

daily_names contains input.url.host if {
	daily_tool == "WebFetch"
	input.url.host != ""
}

daily_names contains input.tool.input.subagent_type if daily_tool == "Agent"

daily_names contains input.tool.input.skill if daily_tool == "Skill"

daily_matches_name(pattern, name) if {
	daily_tool in {"Agent", "Skill"}
	pattern == name
}

daily_matches_name(pattern, host) if {
	daily_tool == "WebFetch"
	lower(pattern) == concat("", ["domain:", host])
}

daily_matches_name(pattern, host) if {
	daily_tool == "WebFetch"
	startswith(pattern, "domain:*.")
	endswith(host, trim_prefix(lower(pattern), "domain:*"))
}

# as in .gitignore: //x from the root, /x and x/y below the working folder, x at any depth of it
daily_matches_path(pattern, file) if {
	startswith(pattern, "//")
	daily_matches_file(trim_prefix(pattern, "/"), file)
}

daily_matches_path(pattern, file) if {
	pattern != ""
	not startswith(pattern, "//")
	folder := concat("", [trim_suffix(input.session.cwd, "/"), "/"])
	startswith(file, folder)
	daily_matches_file(daily_relative(trim_prefix(pattern, "./")), trim_prefix(file, folder))
}

daily_relative(pattern) := trim_prefix(pattern, "/") if contains(trim_suffix(pattern, "/"), "/")

daily_relative(pattern) := concat("", ["**/", pattern]) if not contains(trim_suffix(pattern, "/"), "/")

# ** stands for no folder as well, and a folder for all below it
daily_matches_file(pattern, file) if {
	some start in {trim_suffix(pattern, "/"), trim_prefix(trim_suffix(pattern, "/"), "**/")}
	some middle in {start, replace(start, "/**/", "/")}
	some end in {middle, concat("", [middle, "/**"])}
	glob.match(end, ["/"], file)
}
