package facts

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxGitConfig bounds how much of a repository's configuration is read; a
// longer one counts as running programs.
const maxGitConfig = 64 << 10

// executing are words in keys of a git configuration that start programs or
// read further configuration, letters lowered. They meet too much rather than
// too little, in values as well.
var executing = []string{"textconv", "external", "clean", "smudge", "process", "fsmonitor", "include", "program", "command", "pager", "hooks", "editor",
	"attributesfile", "alias", "askpass", "helper", "worktree", "promisor", "partialclone", "uploadpack", "receivepack", "vcs", "objectformat", "::", "\\"}

// executingKeys are names of keys that start programs and are too common as
// parts of other words: merge.*.driver, submodule.*.update, difftool.*.cmd.
var executingKeys = lazily(`(?:^|\n|\])[ \t]*(driver|update|cmd|path)[ \t]*(=|\r?\n|$)`)

// repository is what a folder's git repository may start.
type repository struct {
	top  string // folder that holds .git; empty when there is none
	runs bool   // any git command may start a program
}

// GitRunsPrograms reports whether a git command in cwd might start a program
// that the repository itself names: a filter, a monitor, a pager. It is true
// in every doubt, and false where there is no repository at all.
func GitRunsPrograms(cwd string) bool { return repositoryOf(cwd).runs }

func repositoryOf(cwd string) repository {
	if !filepath.IsAbs(cwd) {
		return repository{runs: true}
	}
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		if meta := join(dir, ".git"); exists(meta) {
			// the one hook that reading commands run, when they refresh the index
			runs := exists(meta+"/hooks/post-index-change") || exists(meta+"/modules") || exists(meta+"/commondir") || configRuns(meta+"/config") || embeds(meta+"/index")
			return repository{top: dir, runs: runs}
		}
		if exists(join(dir, "HEAD")) && (exists(join(dir, "objects")) || exists(join(dir, "commondir"))) {
			return repository{runs: true} // git takes the folder itself for a repository
		}
		if dir == filepath.Dir(dir) {
			return repository{}
		}
	}
}

// maxHooks bounds the names read of a folder of hooks.
const maxHooks = 256

// hooked reports whether commands that change the repository run hooks.
func (r repository) hooked() bool {
	if r.runs || r.top == "" {
		return r.runs
	}
	f, err := os.Open(join(r.top, ".git") + "/hooks")
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxHooks)
	if err != nil && err != io.EOF || len(names) == maxHooks {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".sample") })
}

func exists(path string) bool {
	_, err := lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func configRuns(path string) bool {
	text, err := readSmall(path, maxGitConfig)
	if err != nil {
		return true // also where .git is a file that points elsewhere
	}
	text = bytes.ToLower(text)
	for _, word := range executing {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return executingKeys.Match(text)
}
