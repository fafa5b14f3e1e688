# Shell commands that only read, spelt so plainly that nothing else can happen.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "shell.reads"} if shell_reads

shell_reads if {
	input.tool.name == "Bash"
	input.bash.ok
	count(input.bash.commands) > 0
	every name, seen in input.bash.features {
		not seen
		name != ""
	}
	every c in input.bash.commands {
		plain(c)
		reads(c)
	}
}

# plain: the very program of that name, no assignment, no file opened by a redirection
plain(c) if {
	c.static
	c.name.value == c.name.basename
	count(c.env) == 0
	count(c.via) == 0
	not c.in_substitution
	every r in c.redirects {
		r.static
		is_null(r.path)
	}
}

reads(c) if c.name.basename in {"echo", "false", "pwd", "true", "whoami"}

# printf -v NAME evaluates the subscript of NAME
reads(c) if {
	c.name.basename == "printf"
	every a in c.args {
		not startswith(a.value, "-")
		not regex.match("[\\[$`]", a.value)
	}
}

reads(c) if {
	c.name.basename in {"cat", "head", "ls", "stat", "tail", "wc"}
	every a in c.args {
		file_or_flag(a)
	}
}

reads(c) if {
	c.name.basename == "grep"
	every a in c.args {
		grep_word(a)
	}
}

reads(c) if {
	c.name.basename == "git"
	git_reads(c)
}

file_or_flag(a) if plain_word(a)

file_or_flag(a) if {
	is_null(a.path)
	regex.match(`^(-[A-Za-z0-9]*|--[a-z-]+|--(lines|bytes|color|sort|time)=[A-Za-z0-9+-]*)$`, a.value)
}

grep_word(a) if plain_word(a)

grep_word(a) if {
	is_null(a.path)
	regex.match(`^(-[ivnclhHowxEFqs]+|-[ABCm][0-9]*|--)$`, a.value)
}

# a word that names a plain file; an option with a file (--output=x) is none
plain_word(a) if {
	not startswith(a.value, "-")
	not is_null(a.path)
	a.path.mode == "read"
	a.path.resolved
	a.path.inside
	not a.path.protected
	not a.path.sensitive
}

# git reads when neither its options nor the repository's own configuration
# can start a program, and it prints no contents: a tracked file may be secret.
git_reads(c) if {
	not c.git.runs_program
	count(c.git.globals) == 0
	c.git.subcommand in {"diff", "log", "ls-files", "rev-parse", "show", "status"}
	not prints_contents(c.git)
	every a in c.args {
		git_word(a)
	}
}

git_reads(c) if {
	not c.git.runs_program
	count(c.git.globals) == 0
	c.git.subcommand == "branch"
	every a in c.git.args {
		a in {"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current", "--no-color"}
	}
}

prints_contents(g) if {
	g.subcommand in {"diff", "show"}
	every a in g.args {
		not a in {"--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--no-patch", "-s"}
	}
}

# no pathspec magic (:/x) and no contents of a revision (HEAD:x)
git_word(a) if {
	plain_word(a)
	not contains(a.value, ":")
}

git_word(a) if {
	is_null(a.path)
	a.value in {
		"--", "-s", "-b", "-w", "-1", "-n", "-a", "-q", "--short", "--branch", "--porcelain", "--long", "--stat",
		"--shortstat", "--numstat", "--oneline", "--graph", "--all", "--decorate", "--name-only", "--name-status",
		"--cached", "--staged", "--others", "--modified", "--exclude-standard", "--no-color", "--no-ext-diff",
		"--no-textconv", "--no-patch", "--abbrev-ref", "--show-toplevel", "--is-inside-work-tree",
		"--no-pager", "--no-merges", "--merges", "--reverse", "--ignore-all-space",
	}
}

git_word(a) if {
	is_null(a.path)
	regex.match(`^-[0-9]{1,4}$`, a.value)
}
