package engine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// On Windows the CLI needs the bash.exe of Git for Windows. A server started
// from a desktop client often has another PATH than a terminal, so it is looked
// for here and the CLI is told where it is.

const gitBashVariable = "CLAUDE_CODE_GIT_BASH_PATH"

// windowsHost is what the search looks at; tests make their own.
type windowsHost struct {
	goos     string
	env      func(name string) string // "" when unset
	lookPath func(program string) (string, error)
	exists   func(path string) bool
}

// gitBash returns the value of CLAUDE_CODE_GIT_BASH_PATH for the CLI, "" for
// none. A value of the owner's is kept; the warning says when it names no file.
func (h windowsHost) gitBash() (path, warning string) {
	if h.goos != "windows" {
		return h.env(gitBashVariable), ""
	}
	if set := h.env(gitBashVariable); set != "" {
		if !h.exists(set) {
			warning = fmt.Sprintf("%s names no file: %q; set it to the path of Git's bash.exe, without quotes", gitBashVariable, set)
		}
		return set, warning
	}
	for _, root := range h.gitRoots() {
		for _, place := range []string{`\bin\bash.exe`, `\usr\bin\bash.exe`} {
			if h.exists(root + place) {
				return root + place, ""
			}
		}
	}
	return "", ""
}

// gitRoots are the folders Git may be installed in, likeliest first. bash itself
// is not looked for in PATH: System32 has one that starts a Linux.
func (h windowsHost) gitRoots() (roots []string) {
	if git, err := h.lookPath("git"); err == nil {
		if root := gitRoot(git); root != "" {
			roots = append(roots, root)
		}
	}
	for _, folder := range []struct{ variable, below string }{
		{"ProgramFiles", `\Git`}, {"ProgramW6432", `\Git`}, {"ProgramFiles(x86)", `\Git`}, {"LOCALAPPDATA", `\Programs\Git`},
	} {
		if base := strings.TrimRight(h.env(folder.variable), `\/`); base != "" {
			roots = append(roots, base+folder.below)
		}
	}
	return append(roots, `C:\Program Files\Git`)
}

// gitPlaces are where git.exe lies below the root, the longest first.
var gitPlaces = []string{`\mingw64\bin\git.exe`, `\mingw32\bin\git.exe`, `\clangarm64\bin\git.exe`, `\usr\bin\git.exe`, `\cmd\git.exe`, `\bin\git.exe`}

// gitRoot is the installation a git.exe belongs to, "" when it is laid out
// otherwise, such as a shim. Paths are handled here by hand, since
// path/filepath knows those of its own system only.
func gitRoot(git string) string {
	git = strings.ReplaceAll(git, "/", `\`)
	for _, place := range gitPlaces {
		if cut := len(git) - len(place); cut > 0 && strings.EqualFold(git[cut:], place) {
			return git[:cut]
		}
	}
	return ""
}

// passGitBash puts the variable into a child's environment. The owner's value,
// or what was found, wins over a caller's: it names a program that runs.
func (e *Engine) passGitBash(values map[string]string) {
	host := windowsHost{
		goos: runtime.GOOS, lookPath: exec.LookPath,
		env: func(name string) string { return variableIn(e.o.Environ, name, true) },
		exists: func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Mode().IsRegular()
		},
	}
	path, warning := host.gitBash()
	if warning != "" && e.log != nil {
		e.log.Warn("git-bash", "problem", warning)
	}
	for name := range values {
		if strings.EqualFold(name, gitBashVariable) {
			delete(values, name)
		}
	}
	if path != "" {
		values[gitBashVariable] = path
	}
}

// gitBashHint tells what to do when the CLI says that it has no bash; "" when
// text says no such thing.
func gitBashHint(text string) string {
	if !strings.Contains(strings.ToLower(text), "requires git-bash") {
		return ""
	}
	return "; hint: set " + gitBashVariable + ` in the env block of this MCP server to the path of Git's bash.exe, such as C:\Program Files\Git\bin\bash.exe`
}
