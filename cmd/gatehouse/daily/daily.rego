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

# A misspelt key would leave a row that says more, or less, than its owner meant.
decisions contains {
	"effect": "deny", "rule": "daily.data", "severity": "high",
	"reason": sprintf("rules.toml: %s", [text]),
	"agent_message": "Nothing runs before the owner's rules are corrected. Say so, and stop.",
} if {
	some text in daily_misread
}

# Nor may a slip of the pen in a row go unseen.
decisions contains {
	"effect": "deny", "rule": "daily.row", "severity": "high",
	"reason": sprintf("row %d of rules.toml: %s", [number, text]),
	"agent_message": "Nothing runs before the owner's rules are corrected. Say so, and stop.",
} if {
	some [number, text] in daily_faults
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

# A search from a folder above may also meet what a pattern without a folder names.
decisions contains {
	"effect": "ask", "rule": "daily.search",
	"reason": sprintf("the search may meet what rules.toml keeps back: %s", [daily_written(row)]), "labels": {"daily": daily_written(row)},
	"agent_message": sprintf("The owner of this machine keeps %s back. Search with a glob that names few files and none of those.", [daily_written(row)]),
} if {
	count(daily_tops) > 0
	some row in daily_rows
	row.effect in {"ask", "deny"}
	daily_may_meet(row)
}

decisions contains {"effect": "allow", "rule": "daily.allow"} if daily_allowed

# --- rows: none counts in which anything is odd ---

daily_list := rows if {
	rows := object.get(data.cfg, "daily_rules", [])
	is_array(rows)
}

daily_keys := {"effect", "tool", "pattern", "folder", "reason", "added"}

daily_misread contains "daily_version is not 1" if {
	is_number(data.cfg.daily_version)
	data.cfg.daily_version != 1
}

daily_misread contains "daily_rules is no list of tables" if not daily_list

daily_misread contains sprintf("unknown key %q", [key]) if {
	some key, _ in data.cfg
	startswith(lower(key), "daily")
	not key in {"daily_version", "daily_rules"}
}

daily_misread contains text if {
	not daily_legible
	some text in daily_illegible
}

daily_illegible contains sprintf("row %d is no table", [i + 1]) if {
	some i, row in daily_list
	not is_object(row)
}

daily_illegible contains sprintf("row %d: unknown key %q", [i + 1, key]) if {
	some i, row in daily_list
	is_object(row)
	some key in (object.keys(row) - daily_keys)
}

daily_illegible contains sprintf("row %d: %s is no text", [i + 1, key]) if {
	some i, row in daily_list
	is_object(row)
	some key, value in row
	not is_string(value)
}

# Every call passes here, so all rows are looked at together, and one by one only
# where that finds something.
daily_legible if {
	{type_name(row) | some row in daily_list} - {"object"} == set()
	object.keys(object.union_n(daily_list)) - daily_keys == set()
	{type_name(value) | some row in daily_list; some value in row} - {"string"} == set()
}

daily_sound if {
	daily_legible
	not daily_doubt
}

daily_sound if {
	daily_legible
	daily_doubt
	count(daily_faults) == 0
}

daily_suspect if not daily_legible

daily_suspect if {
	daily_legible
	daily_doubt
}

daily_tools := {row.tool | some row in daily_list}

daily_doubt if count([row | some row in daily_list; row.effect in {"allow", "ask", "deny"}; row.tool != ""]) != count(daily_list)

daily_doubt if {
	some tool in daily_tools
	not daily_tool_spelt(tool)
}

daily_doubt if {
	some row in daily_list
	endswith(row.tool, "*")
	row.effect == "allow"
}

daily_doubt if {
	some folder in {row.folder | some row in daily_list}
	folder != ""
	not daily_clean(folder)
}

daily_doubt if regex.match(`(?m)^\s|\s$|^([A-Z][A-Za-z]+|mcp__[A-Za-z0-9_-]+)\(`, concat("\n", [row.pattern | some row in daily_list]))

daily_doubt if regex.match(`(?m)[][{}\\!]|^~|(^|/)\.\.(/|$)`, concat("\n", [row.pattern | some row in daily_list; row.tool in daily_file_tools]))

daily_doubt if count({row.tool | some row in daily_list; row.pattern != ""; row.pattern != "*"} - (daily_file_tools | {"Bash", "Agent", "Task", "Skill"})) > 0

daily_tool_spelt(tool) if {
	regex.match(daily_tool_form, tool)
	object.get(daily_spelt, lower(tool), tool) == tool
}

# daily_rows are the rows that count in this session's folder and may be about this tool.
daily_rows contains row if {
	daily_sound
	some row in daily_list
	row.tool in daily_near
	daily_here(object.get(row, "folder", ""))
}

daily_here("")

daily_here(folder) if startswith(concat("", [input.session.cwd, "/"]), concat("", [folder, "/"]))

daily_near contains tool if {
	some tool in daily_tools
	tool in {daily_tool, input.tool.name, "Read", "Edit"}
}

daily_near contains tool if {
	some tool in daily_tools
	startswith(input.tool.name, trim_suffix(tool, "*"))
}

# daily_readable are the rows, numbered, that are tables of texts; none without a doubt.
daily_readable contains [i, row] if {
	daily_suspect
	some i, row in daily_list
	is_object(row)
	every value in row {
		is_string(value)
	}
}

daily_faults contains [i + 1, "want effect (allow, ask or deny) and tool"] if {
	some [i, row] in daily_readable
	not row.effect in {"allow", "ask", "deny"}
}

daily_faults contains [i + 1, sprintf("%q is no tool's name", [tool])] if {
	some [i, row] in daily_readable
	tool := object.get(row, "tool", "")
	not regex.match(daily_tool_form, tool)
}

daily_tool_form := `^([A-Z][A-Za-z0-9_-]{0,127}|mcp__[A-Za-z0-9_-]{1,120}|mcp__[A-Za-z0-9_-]{0,120}\*)$`

daily_faults contains [i + 1, sprintf("the tool is spelt %s", [name])] if {
	some [i, row] in daily_readable
	is_string(row.tool)
	name := daily_spelt[lower(row.tool)]
	name != row.tool
}

daily_spelt := {lower(name): name | some name in (daily_file_tools | {"Bash", "Agent", "Task", "Skill", "WebFetch", "WebSearch"})}

daily_file_tools := {"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Grep", "Glob", "LS"}

daily_faults contains [i + 1, "an allow has to name the server whole, as in mcp__server__*"] if {
	some [i, row] in daily_readable
	row.effect == "allow"
	endswith(row.tool, "*")
	not regex.match(`^mcp__.+__[^*]*\*$`, row.tool)
}

# What a pattern of each tool looks like; another one would never be met.
daily_faults contains [i + 1, sprintf("pattern %q %s", [row.pattern, daily_odd(row)])] if {
	some [i, row] in daily_readable
	is_string(row.tool)
	row.pattern != ""
	row.pattern != "*"
}

daily_odd(row) := "has blanks around it" if {
	trim_space(row.pattern) != row.pattern
} else := "repeats the tool; write what stands in the brackets" if {
	regex.match(`^([A-Z][A-Za-z]+|mcp__[A-Za-z0-9_-]+)\(.*\)$`, row.pattern)
} else := "is no domain:example.com" if {
	row.tool == "WebFetch"
	not regex.match(`^domain:(\*\.)?[^*/: ]+$`, row.pattern)
} else := "knows *, ** and ? only, no ~ and no .." if {
	row.tool in daily_file_tools
	regex.match(`[][{}\\!]|^~|(^|/)\.\.(/|$)`, row.pattern)
} else := "is for a tool that takes none" if {
	not row.tool in (daily_file_tools | {"Bash", "Agent", "Task", "Skill", "WebFetch"})
}

daily_faults contains [i + 1, sprintf("folder %q is not absolute and clean: no ~, no slash at the end, no . and ..", [row.folder])] if {
	some [i, row] in daily_readable
	row.folder != ""
	not daily_clean(row.folder)
}

daily_clean(folder) if {
	regex.match(`^(/|[A-Za-z]:[/\\]).*[^/\\]$`, folder)
	not regex.match(`(^|[/\\])\.\.?([/\\]|$)|//`, folder)
}

# Task is the older name of Agent, in rows as in calls.
daily_named(row) := "Agent" if row.tool == "Task"

daily_named(row) := row.tool if row.tool != "Task"

default daily_reason(_) := "rules.toml names this call"

daily_reason(row) := row.reason if object.get(row, "reason", "") != ""

daily_reason(row) := sprintf("rules.toml names %s", [daily_written(row)]) if object.get(row, "reason", "") == ""

daily_pattern(row) := pattern if {
	pattern := object.get(row, "pattern", "")
	pattern != "*"
}

# as in the CLI, a star alone is no pattern at all
daily_pattern(row) := "" if object.get(row, "pattern", "") == "*"

default daily_written(_) := "this call"

daily_written(row) := substring(sprintf("%s(%s)", [row.tool, daily_pattern(row)]), 0, 100) if daily_pattern(row) != ""

daily_written(row) := substring(row.tool, 0, 100) if daily_pattern(row) == ""

# daily_tool is the name rules use: Task is the older name of Agent.
daily_tool := "Agent" if input.tool.name == "Task"

daily_tool := input.tool.name if input.tool.name != "Task"

# daily_speaks: the row is about this tool at all.
daily_speaks(row) if daily_named(row) == daily_tool

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

# mcp__git* names servers: enough to stop them, too little to let them run
daily_speaks(row) if {
	row.effect != "allow"
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
	daily_sandboxed
}

# commands: nothing may happen beside them
daily_allowed if {
	daily_tool == "Bash"
	count(daily_grants) > 0
	daily_sandboxed
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

# nobody who allows a command means it to run without the sandbox
daily_sandboxed if object.get(input.tool.input, "dangerouslyDisableSandbox", false) == false

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
		daily_matches_path(daily_base(row), daily_pattern(row), p.abs)
		daily_matches_path(daily_base(row), daily_pattern(row), p.real)
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

# files, in any letters; a shell text is held to what rows say of files, too
daily_hits(row) if {
	daily_keeps(row)
	some p in input.paths
	daily_counts(row, p)
	some file in daily_met(p)
	daily_keeps_path(row, file)
}

# a search from above looks into what the pattern names
daily_hits(row) if {
	daily_keeps(row)
	not daily_anywhere(row)
	some top in daily_tops
	daily_above(top, daily_fixed(row))
	not daily_narrow(row)
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

# daily_keeps: the row keeps files from this tool.
daily_keeps(row) if {
	daily_pattern(row) != ""
	row.tool in daily_file_tools
	daily_speaks(row)
}

daily_keeps(row) if {
	daily_pattern(row) != ""
	row.tool in {"Read", "Edit"}
	daily_tool == "Bash"
}

# mv reads what it changes, so a row for Read counts for every file of a shell text
daily_counts(_, _) if daily_tool != "Bash"

daily_counts(row, _) if row.tool == "Read"

daily_counts(_, p) if p.mode == "write"

daily_met(p) := {p.abs, p.real} if is_null(p.glob)

daily_met(p) := {p.abs, p.real} | {m | some m in p.glob.matches} if not is_null(p.glob)

daily_keeps_path(row, file) if {
	daily_matches_path(lower(daily_base(row)), lower(daily_pattern(row)), lower(file))
}

# x/** keeps x itself, too
daily_keeps_path(row, file) if {
	endswith(daily_pattern(row), "/**")
	pattern := trim_suffix(daily_pattern(row), "/**")
	trim(pattern, "/.") != ""
	daily_matches_path(lower(daily_base(row)), lower(daily_slashed(pattern)), lower(file))
}

# without its end, src/** must not become a name at any depth
daily_slashed(pattern) := pattern if contains(pattern, "/")

daily_slashed(pattern) := concat("", ["/", pattern]) if not contains(pattern, "/")

# daily_tops are the folders a search begins in.
daily_tops contains file if {
	daily_tool in {"Grep", "Glob", "LS"}
	some p in input.paths
	p.arg == daily_top_argument
	some file in {p.abs, p.real}
}

# programs that read all below a folder
daily_tops contains file if {
	daily_sweeps
	some p in input.paths
	some file in {p.abs, p.real}
}

daily_tops contains c.cwd.value if {
	some c in input.bash.commands
	daily_sweeps_with(c)
	count([a | some a in c.args; not a.flag]) < 2
}

# the fixed beginning of the pattern says more, unless it has alternatives
daily_top_argument := "/pattern" if {
	daily_tool == "Glob"
	some p in input.paths
	p.arg == "/pattern"
	not contains(p.raw, "{")
} else := "/path"

daily_sweeps if {
	some c in input.bash.commands
	daily_sweeps_with(c)
}

daily_sweeps_with(c) if c.name.basename in {"rg", "ag", "ack", "tar", "zip", "7z"}

daily_sweeps_with(c) if {
	c.name.basename in {"grep", "egrep", "fgrep", "zgrep", "cp", "scp", "rsync", "diff"}
	some a in c.args
	regex.match(`^-[A-Za-z]*[rRa]|^--(dereference-)?recursive|^--archive`, a.value)
}

# daily_fixed is the folder or file that a row's pattern names before its first star.
daily_fixed(row) := regex.replace(concat("/", [lower(daily_base(row)), lower(daily_relative(daily_undotted(row)))]), `/[^/]*[*?].*$`, "") if {
	not startswith(daily_pattern(row), "//")
}

daily_fixed(row) := regex.replace(lower(trim_prefix(daily_pattern(row), "/")), `/[^/]*[*?].*$`, "") if {
	startswith(daily_pattern(row), "//")
}

# a pattern without a folder, such as *.key or **/x, may be met anywhere below
daily_anywhere(row) if daily_fixed(row) == lower(daily_base(row))

daily_may_meet(row) if {
	daily_keeps(row)
	daily_anywhere(row)
	some top in daily_tops
	top != ""
	not daily_narrow(row)
	not daily_hits(row)
	some one in {top, lower(top)}
	daily_joined(one, daily_fixed(row))
}

# one lies above the other, or is it
daily_joined(a, b) if daily_above(a, b)

daily_joined(a, b) if daily_above(b, a)

daily_above(top, file) if {
	top != ""
	startswith(concat("", [file, "/"]), concat("", [trim_suffix(lower(top), "/"), "/"]))
}

# daily_narrow: the search names files, all of them are known, and the row none of them.
daily_narrow(row) if {
	daily_tool in {"Grep", "Glob"}
	some p in input.paths
	p.arg in {"/glob", "/pattern"}
	not is_null(p.glob)
	p.glob.truncated == false
	every m in p.glob.matches {
		not daily_keeps_path(row, m)
	}
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

# as in .gitignore: //x from the root, /x and x/y below the row's folder or else the session's, x at any depth of it
daily_matches_path(_, pattern, file) if {
	startswith(pattern, "//")
	daily_matches_file(trim_prefix(pattern, "/"), file)
}

daily_matches_path(base, pattern, file) if {
	pattern != ""
	not startswith(pattern, "//")
	folder := concat("", [base, "/"])
	startswith(file, folder)
	daily_matches_file(daily_relative(trim_prefix(pattern, "./")), trim_prefix(file, folder))
}

daily_base(row) := folder if {
	folder := object.get(row, "folder", "")
	folder != ""
} else := trim_suffix(input.session.cwd, "/")

daily_undotted(row) := trim_prefix(daily_pattern(row), "./")

daily_relative(pattern) := trim_prefix(pattern, "/") if contains(trim_suffix(pattern, "/"), "/")

daily_relative(pattern) := concat("", ["**/", pattern]) if not contains(trim_suffix(pattern, "/"), "/")

# ** stands for no folder as well, and a folder for all below it
daily_matches_file(pattern, file) if {
	some start in {trim_suffix(pattern, "/"), trim_prefix(trim_suffix(pattern, "/"), "**/")}
	some middle in {start, replace(start, "/**/", "/")}
	some end in {middle, concat("", [middle, "/**"])}
	glob.match(end, ["/"], file)
}
