// No-force-push is an example of pre_permission: it denies pushes that overwrite
// what others have pushed, and has a person look at careful ones. It reads commands
// word by word, so a script that it does not see into gets past it: the built-in
// policies parse commands properly, and this rule only comes on top of them.
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
	line := pdk.Str("/tool_input/command")
	if !strings.Contains(line, "push") {
		return pdk.Pass() // long scripts cost time, of which a call has little
	}
	for _, command := range commands(line) {
		switch word := forced(command); {
		case word == "":
		case strings.HasPrefix(word, "--force-with-lease"):
			pdk.Ask("git push " + word + " rewrites a branch")
		default:
			return pdk.Deny("git push with " + word + " overwrites what others have pushed; use --force-with-lease")
		}
	}
	return pdk.Pass() // the strictest verdict holds: an ask stays one
}

// commands splits a line at what separates commands, and each into words.
func commands(line string) [][]string {
	var list [][]string
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";&|\n()`", r) }) {
		part = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(part)
		list = append(list, strings.Fields(part))
	}
	return list
}

// forced returns the word that makes a git push a forced one, empty if none does.
func forced(words []string) string {
	push := -1
	for i, w := range words {
		if w == "push" && push < 0 && anyGit(words[:i]) {
			push = i
		}
		if push >= 0 && i > push && forces(w) {
			return w
		}
	}
	return ""
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
		return strings.HasPrefix(word, "--force") || word == "--mirror"
	case strings.HasPrefix(word, "-"):
		return strings.Contains(word, "f") // -f, and among others as in -uf
	}
	return strings.HasPrefix(word, "+") // a refspec
}

func main() {}
