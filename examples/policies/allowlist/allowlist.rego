# Read-only git, ls, cat and grep within the project; everything else is denied.
# Loaded over profile none, which grants nothing and only guards the gate itself.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "allowlist.reads"} if reads

decisions contains {
	"effect": "deny", "rule": "allowlist.rest",
	"reason": "only reading inside the project is on the list",
	"agent_message": "Allowed are Read, Glob, Grep and LS inside the project, and the shell commands ls, cat, grep and git, where git only reads. Report what else you would do.",
} if {
	not reads
}

reads if {
	input.tool.name in {"Glob", "Grep", "LS", "Read"}
	input.paths_plain
}

# A shell text reads when every command of it does. What cannot be analysed has
# ok false; features are substitutions, loops, background jobs and the like.
reads if {
	input.tool.name == "Bash"
	input.bash.ok
	input.bash.commands[0]
	not true in input.bash.features
	plain_or_no_paths
	every c in input.bash.commands {
		c.static
		c.name.value == c.name.basename # not ./ls
		c.env == []
		c.via == []
		opens_nothing(c.redirects)
		only_reads(c.name.basename, c)
	}
}

plain_or_no_paths if input.paths_plain

plain_or_no_paths if input.paths == []

opens_nothing([])

opens_nothing(redirects) if {
	count(redirects) > 0
	every r in redirects {
		is_null(r.path)
		r.static
	}
}

# The words of ls and cat are files, which the facts have resolved, or flags.
only_reads("ls", _)

only_reads("cat", _)

# -r would read whole folders, with the secrets in them, and -f a file of patterns.
only_reads("grep", c) if {
	every a in c.args {
		not_recursive(a)
	}
}

not_recursive(a) if a.flag == false

not_recursive(a) if regex.match(`^-[ABCEFHchilnoqsvwx0-9]+$`, a.value)

only_reads("git", c) if {
	c.git.writes == false
	c.git.network == false
	c.git.runs_program == false
	c.git.globals == []
}
