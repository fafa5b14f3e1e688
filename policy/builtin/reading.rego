# How a program that reads may be used. Left out is what shows whole trees (rg,
# diff -r, grep -r), since they hold secrets, and what is told by a file of the
# folder which program to start (cargo, go, yarn).
package gatehouse.permission

reading := {
	"echo": "text", "false": "text", "pwd": "text", "true": "text", "whoami": "text", "nproc": "text", "arch": "text",
	"printf": "format", "date": "date", "git": "git", "grep": "search", "find": "files", "which": "files", "sleep": "sleep", "ps": "processes",
	"cat": "files", "head": "files", "ls": "files", "stat": "files", "tail": "files", "wc": "files", "du": "files", "nl": "files",
	"basename": "files", "dirname": "files", "realpath": "files", "readlink": "files", "tac": "files", "rev": "files", "cut": "files",
	"tr": "files", "seq": "files", "comm": "files", "id": "files", "uname": "files", "sort": "files", "file": "files", "tree": "files",
	"sha256sum": "files", "md5sum": "files", "cksum": "files", "test": "files", "[": "files", "sed": "files", "hexdump": "files", "od": "files",
	"node": "version", "python": "version", "python3": "version", "diff": "two", "cmp": "two", "uniq": "one", "xxd": "one", "jq": "filter",
}

# The options each may have, none of which names a file, a program or a link to
# follow; -- is one of them. Long names are whole: a shortened one may be another.
options := {
	"basename": `^(-[asz]+|--)$`,
	"cat": `^(-[AbeEnstTuv]+|--number|--show-all|--)$`,
	"cmp": `^(-[bls]+|-n[0-9]*|--)$`,
	"comm": `^(-[123]+|--)$`,
	"cut": `^(-d.?|-[fbc][0-9,-]*|-[szn]+|--complement|--)$`,
	"diff": `^(-[uqbBwyia]+|-U[0-9]*|--brief|--unified|--stat|--color=[a-z]+|--)$`,
	"dirname": `^(-z|--)$`,
	"du": `^(-[abchkmsx0S]+|-d[0-9]*|--max-depth=[0-9]+|--summarize|--human-readable|--apparent-size|--total|--)$`,
	"file": `^(-[bihL]+|--brief|--mime|--mime-type|--)$`,
	"find": `^-(i?name|i?path|i?regex|type|maxdepth|mindepth|not|and|or|o|a|print|print0|ls|size|empty|mtime|mmin|newer|prune|readable|writable|executable|depth|[0-9]+[cwbkMG]?)$`,
	"grep": `^(-[ivnclhHowxEFPqseaLz]*([ABCm][0-9]*)?|--(ignore-case|line-number|count|files-with-matches|word-regexp|extended-regexp|fixed-strings|invert-match|only-matching|no-filename|with-filename|quiet)|--colou?r(=[a-z]+)?|--(include|exclude|exclude-dir)=[A-Za-z0-9_.*{},-]+|--)$`,
	"head": `^(-[0-9]+|-[qvz]+|-[nc][+-]?[0-9]*[kKMGb]?|--(lines|bytes)=[+-]?[0-9]+|--)$`,
	"hexdump": `^(-[bcCdovx]+|-[ns][0-9]*|--)$`,
	"id": `^-[unGgrz]+$`,
	"ls": `^(-[1aAbBcCdfFgGhiklmnNopqQrRsStuUvxX]+|--(all|almost-all|human-readable|recursive|reverse|size|directory|full-time|group-directories-first|no-group)|--(color|sort|time)(=[a-z]+)?|--)$`,
	"md5sum": `^(-[bt]|--)$`,
	"nl": `^(-b[atn]|-[bwnsv]|-[wv][0-9]+|-n(ln|rn|rz)|--)$`,
	"od": `^(-[abcdfhilosxv]+|-A[doxn]?|-[tNj][A-Za-z0-9]*|--)$`,
	"readlink": `^(-[femnqsvz]+|--)$`,
	"realpath": `^(-[emsPqz]+|--)$`,
	"sed": `^(-[nErsuz]+|-e|--quiet|--silent|--regexp-extended|--)$`,
	"seq": `^(-[fsw]|-[0-9.]+)$`,
	"sha256sum": `^(-[bt]|--)$`,
	"sort": `^(-[bdfghinruVMRcsz]*(k[0-9.,]*[a-zA-Z]*)?|-t.?|--)$`,
	"stat": `^(-[cfLstx]+|--)$`,
	"tac": `^(-[br]+|--)$`,
	"tail": `^(-[0-9]+|-[qvz]+|-[nc][+-]?[0-9]*[kKMGb]?|--(lines|bytes)=[+-]?[0-9]+|--)$`,
	"test": `^-[bcdefghknprsuwxzLOS]$`,
	"[": `^-[bcdefghknprsuwxzLOS]$`,
	"tr": `^(-[cdstC]+|--)$`,
	"tree": `^(-[adfiCshpugDtrLIP]+|--noreport|--dirsfirst|--gitignore)$`,
	"uname": `^-[asnrvmpio]+$`,
	"uniq": `^(-[cdiu]+|--)$`,
	"wc": `^(-[clmwL]+|--bytes|--chars|--lines|--words|--)$`,
	"which": `^-a$`,
	"xxd": `^-([abeipu]+|[lsc][0-9]+)$`,
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

only_reads("git", c) if git_reads(c)

only_reads("sleep", c) if {
	every a in c.args {
		regex.match(`^[0-9.]+[smh]?$`, a.value)
	}
}

# further letters show the variables of other programs
only_reads("processes", c) if c.text in {"ps", "ps a", "ps aux", "ps ax", "ps -A", "ps -ef", "ps -ax"}

only_reads("files", c) if takes_all(c)

takes_all(c) if {
	every a in c.args {
		takes(c.name.basename, a)
	}
}

# the second file is written
only_reads("one", c) if {
	count([a | some a in c.args; not a.flag]) < 2
	takes_all(c)
}

# of two folders every file is compared, and printed
only_reads("two", c) if {
	takes_all(c)
	every a in c.args {
		not is_folder(a)
	}
}

is_folder(a) if a.path.is_dir

# A filter of names and brackets alone: others read variables and files.
only_reads("filter", c) if {
	words := [a.value | some a in c.args; not a.flag]
	regex.match(`^[\]\[.|, A-Za-z0-9_"()?:+<>=!-]*$`, words[0])
	not regex.match(`env|import|include|input|debug|stderr|modulemeta|get_search_list`, words[0])
	every a in c.args {
		filter_word(a)
	}
}

filter_word(a) if plain_word(a)

filter_word(a) if regex.match(`^-[rceSMCjas]+$`, a.value)

only_reads("search", c) if takes_all(c)

# Of a tree, files of program text alone.
only_reads("search", c) if {
	kinds := [a | some a in c.args; startswith(a.value, "--include=")]
	count(kinds) > 0
	every a in kinds {
		regex.match(source_names, a.value)
	}
	every a in c.args {
		tree_word(a)
	}
}

tree_word(a) if takes("grep", a)

tree_word(a) if regex.match(`^-[ivnclhHowxEFPsaz]*r[ivnclhHowxEFPsaz]*$`, a.value)

takes(_, a) if plain_word(a)

takes(program, a) if {
	a.flag == true
	regex.match(options[program], a.value)
}

# a word that names a plain file; an option with a file (--output=x) is none
plain_word(a) if {
	a.flag == false
	a.path.mode == "read"
}
