package facts

import "strings"

// gitStarting are options that start a program or bring configuration, hooks
// or filters with them; abbreviations count.
var gitStarting = []string{"--ext-diff", "--textconv", "--filters", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec", "--extcmd",
	"--template", "--config", "--strategy", "--interactive", "--edit-description", "--edit", "--gpg-sign", "--sign", "--local-user", "--smtp-server"}

// gitWritingFiles are options of reading commands that write a file.
var gitWritingFiles = []string{"--output", "--output-directory"}

// gitStartingLetters are the same for single subcommands.
var gitStartingLetters = map[string]string{"grep": "O", "clone": "uc", "rebase": "xisS", "merge": "sS", "pull": "sS", "cherry-pick": "eS", "revert": "eS", "commit": "eS", "tag": "su", "am": "iS", "add": "ie", "ls-remote": "u", "config": "e"}

// gitStartingWords are first words after a subcommand that start programs.
var gitStartingWords = map[string][]string{
	"bisect": {"run", "visualize", "view"}, "submodule": {"foreach", "update", "add", "init", "sync", "absorbgitdirs", "deinit", "set-branch", "set-url"},
	"config": {"edit"}, "notes": {"edit"}, "sparse-checkout": {"edit"},
}

// options looks for what the words after the subcommand may start or write.
func (g *Git) options(args gitArgs) {
	letters := gitStartingLetters[g.Subcommand]
	for i, a := range args {
		v := a.Value
		switch {
		case v == "--" && a.Static:
			return
		case !a.Static && (v == "" || a.Flag || v[0] == '*' || v[0] == '?' || v[0] == '[' || !a.Glob):
			g.Writes, g.RunsProgram = true, true // it may be an option
		case strings.HasPrefix(v, "--"):
			g.RunsProgram = g.RunsProgram || abbreviates(v, gitStarting)
			g.Writes = g.Writes || abbreviates(v, gitWritingFiles)
		case a.Flag:
			g.RunsProgram = g.RunsProgram || strings.ContainsAny(v, letters)
		case i == 0:
			for _, word := range gitStartingWords[g.Subcommand] {
				g.RunsProgram = g.RunsProgram || v == word
			}
		}
		if g.Network && strings.Contains(v, "::") { // a transport helper
			g.RunsProgram = true
		}
	}
	g.RunsProgram = g.RunsProgram || g.Subcommand == "filter-branch"
}

// abbreviates reports whether v is one of the options, whole or shortened,
// with or without a value.
func abbreviates(v string, options []string) bool {
	name, _, _ := strings.Cut(v, "=")
	for _, o := range options {
		if len(name) > 2 && strings.HasPrefix(o, name) {
			return true
		}
	}
	return false
}
