package main

import (
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
)

// environment is the process environment as "name=value" lines.
type environment []string

// get returns the value of name, the last one when it is set twice.
func (e environment) get(name string) string {
	value := ""
	for _, line := range e {
		n, v, ok := strings.Cut(line, "=")
		if ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			value = v
		}
	}
	return value
}

// The variables that switch resuming from disk on, and sign its tokens.
const (
	allowDiskResume = "CLAUDE_CODE_MCP_ALLOW_DISK_RESUME"
	resumeSecret    = "CLAUDE_CODE_MCP_RESUME_SECRET"
)

// stateFolder is where this program keeps what outlives it: $XDG_STATE_HOME, or
// ~/.local/state, below the name gatehouse. Empty when there is no
// home, or a relative one, which would change with the current folder.
func (e environment) stateFolder() string {
	base := e.get("XDG_STATE_HOME")
	if !filepath.IsAbs(base) { // the XDG rules: a relative one is ignored
		if base = e.home(); !filepath.IsAbs(base) {
			return ""
		}
		base = filepath.Join(base, ".local", "state")
	}
	return filepath.Join(base, "gatehouse")
}

// home returns the home folder, or "" when there is none.
func (e environment) home() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := e.get(name); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// expand replaces a leading ~ by the home folder.
func (e environment) expand(path string) string {
	if path == "~" {
		return e.home()
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(e.home(), rest)
	}
	return path
}
