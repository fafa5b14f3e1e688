package facts

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// Git is what is known about a git command.
type Git struct {
	Subcommand  string   `json:"subcommand"`
	Globals     []string `json:"globals"`      // options before the subcommand, with their values
	COptions    []string `json:"c_options"`    // keys set by -c and --config-env, letters lowered
	Args        []string `json:"args"`         // words after the subcommand
	Paths       []Path   `json:"paths"`        // pathspecs and the path part of rev:path
	Writes      bool     `json:"writes"`       // changes the repository or the working tree; true in doubt
	Network     bool     `json:"network"`      // talks to another repository; true in doubt
	RunsProgram bool     `json:"runs_program"` // may start a program named by options or the repository's configuration; true in doubt
}

// gitFacts reads the arguments of a git command.
func gitFacts(c Command) *Git {
	if c.Name.Basename != "git" {
		return nil
	}
	g := Git{Writes: true, Network: true, RunsProgram: true, Paths: []Path{}}
	words := make([]string, len(c.Args))
	for i, a := range c.Args {
		words[i] = a.Value
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		n := 1
		switch w := words[0]; {
		case w == "-c" || w == "-C" || w == "--git-dir" || w == "--work-tree" || w == "--namespace" || w == "--config-env" || w == "--exec-path" || w == "--super-prefix":
			n = min(2, len(words))
			if (w == "-c" || w == "--config-env") && n == 2 {
				g.COptions = append(g.COptions, key(words[1]))
			}
		case strings.HasPrefix(w, "--config-env="):
			g.COptions = append(g.COptions, key(w[len("--config-env="):]))
		}
		g.Globals = append(g.Globals, words[:n]...)
		words = words[n:]
	}
	if len(words) > 0 {
		g.Subcommand, g.Args = words[0], words[1:]
	}
	g.Globals, g.COptions, g.Args = full(g.Globals), full(g.COptions), full(g.Args)
	return &g
}

func key(assignment string) string {
	k, _, _ := strings.Cut(assignment, "=")
	return strings.ToLower(k)
}

// maxGitConfig bounds how much of a repository's configuration is read; a
// longer one counts as running programs.
const maxGitConfig = 64 << 10

// executing finds keys of a git configuration that start programs or read
// further configuration. It matches too much rather than too little.
var executing = regexp.MustCompile(`(?i)textconv|external|clean|smudge|process|fsmonitor|include|program|command|pager|hooks|editor|attributesfile|alias|askpass|helper|worktree|promisor|partialclone|uploadpack|\\`)

// GitRunsPrograms reports whether a git command in cwd might start a program
// that the repository itself names: a filter, a monitor, a pager. It is true
// in every doubt, and false where there is no repository at all.
func GitRunsPrograms(cwd string) bool {
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects")) {
			return true // git takes the folder itself for a repository
		}
		meta := filepath.Join(dir, ".git")
		if exists(meta) {
			return configRuns(filepath.Join(meta, "config")) || exists(filepath.Join(meta, "modules")) || exists(filepath.Join(meta, "config.worktree"))
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func configRuns(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return true // also where .git is a file that points elsewhere
	}
	f, err := regular.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGitConfig+1))
	return err != nil || len(text) > maxGitConfig || executing.Match(text)
}
