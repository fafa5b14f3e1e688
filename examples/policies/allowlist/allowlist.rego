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

# The words of ls, cat and grep are files, which the facts have resolved, or
# options that are on the list: ls -L would follow links, grep -r would read whole
# folders with the secrets in them, and grep -f a file of patterns.
options := {
	"ls": `^(-[1aAbBcCdfFgGhiklmnopqQrRsStuUvxX]+|--all|--human-readable|--reverse)$`,
	"cat": `^(-[AbeEnstTuv]+|--number)$`,
	"grep": `^-[ABCEFHchilnoqsvwx0-9]+$`,
}

only_reads(name, c) if {
	options[name]
	every a in c.args {
		known_option(name, a)
	}
}

known_option(_, a) if a.flag == false

known_option(name, a) if regex.match(options[name], a.value)

# git prints no contents here: a tracked file may be secret, and --no-index,
# --untracked and cat-file reach other files as well.
only_reads("git", c) if {
	c.git.writes == false
	c.git.network == false
	c.git.runs_program == false
	regex.match(git_texts, c.text)
}

git_texts := `^git (status( -[sb]+| --short| --branch| --porcelain)*|log( -[0-9]+| --oneline| --graph| --all| --stat)*( [A-Za-z0-9_./][A-Za-z0-9_./-]*)*|diff( --stat| --name-only| --name-status)+|branch( -a| -r| -v| --list| --show-current)*|ls-files|rev-parse (HEAD|--abbrev-ref HEAD|--show-toplevel))$`
