# Shell commands that only read, spelt so plainly that nothing else can happen.
# What each program may be told is in reading.rego.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "shell.reads"} if {
	input.tool.name == "Bash"
	input.bash.ok == true
	shell_reads
}

# The first command is looked up first: most texts end there.
shell_reads if {
	reading[input.bash.commands[0].name.basename]
	all_read
}

# npm is everyday work, so it is no program that reads
shell_reads if {
	input.bash.commands[0].text in {"npm --version", "npm -v"}
	all_read
}

# find … | xargs wc counts the lines of program text. Nothing stands before find,
# so nothing else is read by xargs.
shell_reads if {
	count(input.bash.commands) == 3
	regex.match(finds_sources, input.bash.commands[0].text)
	regex.match(`^xargs( -[0r])* wc( -[clmwL]+)*$`, input.bash.commands[1].text)
	input.bash.ok
	calm
	input.paths_plain
	reads(input.bash.commands[0])
	unadorned(input.bash.commands[1])
	input.bash.commands[1].redirects == []
	opens_no_file(input.bash.commands[2].redirects)
}

finds_sources := `^find( [A-Za-z0-9_./][A-Za-z0-9_./-]*)*( -type f| -maxdepth [0-9]+)* -i?name \*\.([ch]|go|py|rs|js|ts|[jt]sx|java|rb|php|cs|kt|sh|md|html|css)( -type f| -print0?)*$`

# Most texts that read end here: it is what follows for commands without
# redirections and patterns, with less to look at.
all_read if {
	input.paths_plain
	input.bash.ok
	not true in input.bash.features
	every c in input.bash.commands {
		[c.static, c.in_substitution, c.env, c.via, c.redirects] == [true, false, [], [], []]
		c.name.value == c.name.basename
		only_reads(reading[c.name.basename], c)
	}
}

all_read if {
	input.bash.ok
	calm
	nothing_said_of_paths
	every c in input.bash.commands {
		reads(c)
	}
}

reads(c) if {
	plain(c)
	only_reads(reading[c.name.basename], c)
}

reads(c) if {
	plain(c)
	tells_version[c.text]
}

# python -v tells of every file it loads, and goes on
tells_version := {
	"node --version", "node -v", "npm --version", "npm -v",
	"python --version", "python -V", "python3 --version", "python3 -V",
}

# no substitution, loop, background job and the like
calm if not true in input.bash.features

# patterns are looked at word by word, and $? tells nothing
calm if {
	true in input.bash.features
	{f | some f, true in input.bash.features} - {"glob", "param"} == set()
}

# words that name no file at all, or plain ones
nothing_said_of_paths if input.paths_plain

nothing_said_of_paths if input.paths == []

nothing_said_of_paths if {
	input.paths_plain == false
	every p in input.paths {
		harmless_path(p)
	}
}

harmless_path(p) if plain_path(p)

harmless_path(p) if p.abs == "/dev/null"

# what --include=*.go spells is no file
harmless_path(p) if {
	p.protected == false
	p.arg in name_patterns
}

name_patterns := {a.path.arg |
	some c in input.bash.commands
	c.name.basename == "grep"
	some a in c.args
	picks_names(c, a)
}

plain_path(p) if {
	p.resolved
	p.inside
	[p.protected, p.sensitive, p.hardlink] == [false, false, false]
	not shows_secret(p)
	{flag | some flag in p.flags} & {"control", "device", "invisible", "mixed_script"} == set()
}

shows_secret(p) if p.glob.matches_protected

# plain: the very program of that name, no assignment, no file opened for writing
plain(c) if {
	c.static
	c.name.value == c.name.basename
	c.env == []
	c.via == []
	c.in_substitution == false
	opens_no_file(c.redirects)
}

plain(c) if {
	c.static == false
	unadorned(c)
	every a in c.args {
		known_word(c, a)
	}
}

unadorned(c) if {
	c.name.value == c.name.basename
	c.env == []
	c.via == []
	c.in_substitution == false
	opens_no_file(c.redirects)
}

opens_no_file([])

opens_no_file(redirects) if {
	count(redirects) > 0
	every r in redirects {
		r.static
		reads_or_joins(r)
	}
}

# 2>&1, >/dev/null
reads_or_joins(r) if is_null(r.path)

reads_or_joins(r) if {
	r.op == "<"
	r.path.mode == "read"
}

known_word(_, a) if a.static

# a pattern that was resolved, and meets nothing that reads like an option
known_word(_, a) if {
	a.flag == false
	not is_null(a.path)
	a.path.glob.truncated == false
	every m in a.path.glob.matches {
		not contains(m, "/-")
	}
}

known_word(c, a) if picks_names(c, a)

known_word(c, _) if {
	c.name.basename == "echo"
	regex.match("^[^$`]*(\\$\\?[^$`]*)+$", shell_text)
}

# grep --include=*.go says which names, and no shell finds a file of that name
picks_names(c, a) if {
	c.name.basename == "grep"
	regex.match(`^--(include|exclude|exclude-dir)=[A-Za-z0-9_.*{},-]+$`, a.value)
	not is_null(a.path)
}
