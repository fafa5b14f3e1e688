//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"os"
	"strings"
)

// endOfTool is in every line that the CLI makes of a Bash call; its hooks' lines
// have none, and are for sh.
const endOfTool = " && pwd -P >| "

// shell says what runs a line.
func (f *filter) shell(line string) (path string, argv []string) {
	switch {
	case f.isMCP: // the words of a program and its arguments
		line = "exec " + line
	case strings.Contains(line, endOfTool):
		path = f.toolShell()
		return path, []string{path, "-c", line}
	}
	return "/bin/sh", []string{"/bin/sh", "-c", line}
}

// toolShell is the shell the CLI chose, which it tells in SHELL.
func (f *filter) toolShell() string {
	for _, name := range []string{"SHELL", "CLAUDE_CODE_SHELL"} {
		if path := f.variable(name); known(path) && executable(path) {
			return path
		}
	}
	for _, dir := range append(strings.Split(f.variable("PATH"), ":"), "/bin", "/usr/bin", "/usr/local/bin") {
		if path := dir + "/bash"; strings.HasPrefix(path, "/") && executable(path) {
			return path
		}
	}
	return "/bin/sh"
}

func known(path string) bool {
	name := base(path)
	return strings.Contains(name, "bash") || strings.Contains(name, "zsh")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
