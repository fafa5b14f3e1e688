# Shell commands that only read, spelt so plainly that nothing else can happen.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "shell.reads"} if {
	input.tool.name == "Bash"
	input.bash.ok == true
	shell_reads
}

# The first command is looked up first: most texts end there.
shell_reads if {
	reading[input.bash.commands[0].name.basename]
	input.bash.ok
	not true in input.bash.features
	nothing_said_of_paths
	every c in input.bash.commands {
		plain(c)
		only_reads(reading[c.name.basename], c)
	}
}

# words that name no file at all, or plain ones
nothing_said_of_paths if input.paths_plain

nothing_said_of_paths if input.paths == []

# plain: the very program of that name, no assignment, no file opened by a redirection
plain(c) if {
	c.static
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
		is_null(r.path)
	}
}

# How a program that reads may be used. Left out is what shows whole trees (grep
# -r, diff -r, rg), since they hold secrets, and what is told by a file of the
# folder which program to start (cargo, go, npm, yarn).
reading := {
	"echo": "text", "false": "text", "pwd": "text", "true": "text", "whoami": "text", "nproc": "text", "arch": "text",
	"printf": "format", "date": "date", "grep": "search", "find": "find", "git": "git", "which": "words",
	"cat": "files", "head": "files", "ls": "files", "stat": "files", "tail": "files", "wc": "files", "du": "files", "nl": "files",
	"basename": "files", "dirname": "files", "realpath": "files", "readlink": "files", "tac": "files", "rev": "files", "cmp": "files",
	"cut": "files", "tr": "files", "seq": "files", "comm": "files", "id": "files", "uname": "files",
	"sort": "sort", "uniq": "uniq", "diff": "diff", "file": "kind", "tree": "tree", "sha256sum": "sums", "md5sum": "sums", "cksum": "sums",
	"node": "version", "python": "version", "python3": "version",
}

only_reads("text", _)

# printf -v NAME evaluates the subscript of NAME
only_reads("format", c) if {
	every a in c.args {
		not startswith(a.value, "-")
		not regex.match("[\\[$`]", a.value)
	}
}

only_reads("date", c) if {
	every a in c.args {
		regex.match(`^(\+.*|-u|-R|--utc|-I[a-z]*)$`, a.value)
	}
}

only_reads("version", c) if {
	count(c.args) == 1
	c.args[0].value in {"--version", "-V", "-v"}
}

only_reads("git", c) if git_reads(c)

only_reads("files", c) if {
	every a in c.args {
		file_or_flag(a)
	}
}

# uniq writes its second file
only_reads("uniq", c) if {
	count([a | some a in c.args; not a.flag]) < 2
	every a in c.args {
		takes("uniq", a)
	}
}

only_reads(way, c) if {
	way in {"words", "search", "find", "sort", "diff", "kind", "tree", "sums"}
	every a in c.args {
		takes(way, a)
	}
}

file_or_flag(a) if plain_word(a)

file_or_flag(a) if {
	a.flag
	regex.match(`^(-[A-Za-z0-9]*|--[a-z-]+|--(lines|bytes|color|sort|time)=[A-Za-z0-9+-]*)$`, a.value)
}

takes(_, a) if plain_word(a)

takes(way, a) if {
	a.flag == true
	regex.match(flags[way], a.value)
}

flags := {
	"words": `^-a$`,
	"search": `^(-[ivnclhHowxEFqse]+|-[ABCm][0-9]*|--)$`,
	"find": `^(-(i?name|i?path|type|maxdepth|mindepth|not|and|or|o|a|print|print0|size|empty|mtime|mmin|newer|prune|readable|writable|executable|depth))$`,
	"sort": `^-[bdfghinruVMRc]*(k[0-9.,]*[a-zA-Z]*)?$|^-t.?$`,
	"uniq": `^-[cdiu]+$`,
	"diff": `^(-[uqNbBwyia]+|-U[0-9]+|--brief|--unified|--stat)$`,
	"kind": `^(-[bihL]+|--brief|--mime|--mime-type)$`,
	"tree": `^-[adfiCshpugDtrL]+$`,
	"sums": `^-b$`,
}

# a word that names a plain file; an option with a file (--output=x) is none
plain_word(a) if {
	a.flag == false
	a.path.mode == "read" # null has none
}
