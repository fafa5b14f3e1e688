package facts

import "strings"

// writers are programs that change what their arguments name: every one, or
// only the last.
var (
	writers = setOf("tee", "touch", "mkdir", "rm", "rmdir", "unlink", "shred", "truncate", "chmod", "chown", "chgrp", "mv", "mkfifo", "mknod",
		"patch", "split", "csplit", "sponge", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "rename", "chattr", "setfacl", "setfattr", "dos2unix", "unix2dos", "ed", "ex")
	lastWriters = setOf("cp", "ln", "install", "rsync", "scp")
	speakers    = setOf("echo", "printf", "sleep", "ps") // their arguments are text

	// onlyRead never change what their arguments name. git is here because its
	// words are mostly no files; what it may do is told by [Git].
	onlyRead = setOf("cat", "ls", "head", "tail", "less", "more", "wc", "grep", "egrep", "fgrep", "rg", "diff", "cmp", "stat", "file",
		"du", "jq", "find", "fd", "tree", "test", "[", "cd", "basename", "dirname", "readlink", "realpath", "sha256sum", "md5sum", "cut", "git",
		"pushd", "comm", "nl", "od", "hexdump", "strings", "which", "type")
)

// modeOf says what a program does to the file that an argument names.
func modeOf(c *Command, at int) Mode {
	name := c.Name.Basename
	writes := false
	switch {
	case writers[name]:
		writes = true
	case lastWriters[name]:
		writes = at == len(c.Args)-1 || name == "install" && hasWord(c.Args, "-d")
	case c.deletes:
		writes = !c.Args[at].Flag && !hasExpression(c.Args[:at])
	case name == "dd":
		writes = len(c.Args[at].Value) > 2 && c.Args[at].Value[:3] == "of="
	case name == "sed" || name == "gsed":
		writes = c.inPlace && at >= c.operands
	case name == "uniq": // uniq IN OUT
		writes = operandsBefore(c.Args, at) == 1
	case name == "flock":
		writes = operandsBefore(c.Args, at) == 0
	case c.Git != nil:
		writes = gitTreeWriters[c.Git.Subcommand] && at >= c.Git.args
	}
	if writes {
		return Write
	}
	return Read
}

func hasWord(words []Word, value string) bool {
	for i := range words {
		if words[i].Value == value {
			return true
		}
	}
	return false
}

// operandsBefore counts the words before at that are no options; it stops at 2.
func operandsBefore(words []Word, at int) int {
	n := 0
	for i := 0; i < at && n < 2; i++ {
		if !words[i].Flag || words[i].Value == "-" {
			n++
		}
	}
	return n
}

// hasExpression reports that find's expression has begun; before it stand only
// folders and the options -H, -L, -P, -D and -O.
func hasExpression(words []Word) bool {
	for i := range words {
		v := words[i].Value
		if v == "(" || v == "!" || words[i].Flag && len(v) > 1 && strings.IndexByte("HLPDO", v[1]) < 0 {
			return true
		}
	}
	return false
}
