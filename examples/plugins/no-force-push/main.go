// No-force-push is an example of pre_permission: it denies pushes that overwrite
// what others have pushed, and has a person look at careful ones. It reads commands
// word by word: where a shell would put something else in a word's place a person is
// asked, but aliases, scripts, settings of git and other programs that push get past
// it. The built-in policies parse commands properly, and this rule only comes on top.
package main

import (
	"strings"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

//go:wasmexport pre_permission
func prePermission() int32 {
	if pdk.Str("/tool_name") != "Bash" {
		return pdk.Pass()
	}
	command := pdk.Str("/tool_input/command")
	line := plain.Replace(command)
	if !strings.Contains(line, "push") {
		return pdk.Pass() // long scripts cost time, of which a call has little
	}
	// What is quoted may be one word of a command, or commands for another shell.
	for _, command := range append(commands(line), commands(plain.Replace(asWords(command)))...) {
		switch word := forced(command); {
		case word == "":
		case strings.HasPrefix(word, "--force-with-lease"):
			pdk.Ask("git push " + shown(word) + " rewrites a branch")
		case strings.ContainsAny(word, expands):
			pdk.Ask("git push with " + shown(word) + ": what the shell puts there is not known")
		default:
			return pdk.Deny("git push with " + shown(word) + " overwrites what others have pushed; use --force-with-lease")
		}
	}
	return pdk.Pass() // the strictest verdict holds: an ask stays one
}

// plain takes away quoting, lines that go on, and what ends a word without a space.
var plain = strings.NewReplacer("\\\r\n", "", "\\\n", "", `$"`, "", `$'`, "", `"`, "", `'`, "", `\`, "",
	"${IFS}", " ", "$IFS", " ", "<", " ", ">", " ")

// commands splits a plain line at what separates commands, and each into words.
func commands(line string) [][]string {
	var list [][]string
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(ends, r) }) {
		list = append(list, strings.Fields(part))
	}
	return list
}

const ends = ";&|\n()`" // a command

// asWords puts "_" for what ends a command where it is quoted.
func asWords(line string) string {
	b := []byte(line)
	var quote byte
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			if i++; i < len(b) && strings.IndexByte(ends, b[i]) >= 0 && b[i] != '\n' {
				b[i] = '_'
			}
		case quote != 0 && strings.IndexByte(ends, c) >= 0:
			b[i] = '_'
		}
	}
	return string(b)
}

// expands are the characters of a word that a shell may put something else for.
const expands = "${*?["

// forced returns the word that makes a git push a forced one, else one that may;
// empty if none does.
func forced(words []string) (word string) {
	push := false
	for i, w := range words {
		switch {
		case !push:
			push = w == "push" && anyGit(words[:i]) || strings.HasSuffix(w, "git-push")
		case forces(w):
			return w
		case word == "" && strings.ContainsAny(w, expands):
			word = w
		}
	}
	return word
}

// shown is a word as an answer repeats it.
func shown(word string) string {
	if len(word) > 80 {
		return strings.ToValidUTF8(word[:80], "") + "…"
	}
	return word
}

func anyGit(words []string) bool {
	for _, w := range words {
		if w == "git" || strings.HasSuffix(w, "/git") {
			return true
		}
	}
	return false
}

func forces(word string) bool {
	switch {
	case strings.HasPrefix(word, "--"):
		return strings.HasPrefix(word, "--force") || len(word) > 2 && strings.HasPrefix("--mirror", word)
	case strings.HasPrefix(word, "-"):
		return strings.Contains(word, "f") // -f, and among others as in -uf
	}
	return strings.HasPrefix(word, "+") // a refspec
}

func main() {}
