package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// installCLI gets the CLI that this program is tested with.
const installCLI = "npm install -g @anthropic-ai/claude-code"

// next is the one thing to do now: the command that adds this server to Claude
// Code, or what has to be put right first.
func (k *check) next() string {
	for _, g := range k.report.Gate {
		switch {
		case g.Status != gateFailed:
		case g.CLI == gateScripted:
			return "use another build of gatehouse: this one does not hold the gate by itself; please report it"
		case k.hooksOff != "":
			return "remove disableAllHooks from " + k.hooksOff + ", then run gatehouse check again"
		case g.Check == checkSettings:
			return "put right the file named above, then run gatehouse check again"
		default:
			return "start no session with this CLI; look at Claude Code's managed settings on this machine, then run gatehouse check again"
		}
	}
	if k.report.CLI.Error != "" {
		return installCLI + "    (or name the CLI with --cli or [cli] executable)"
	}
	if name := k.report.failedServer(); name != "" {
		return "put right what keeps mcp_server " + name + " from being reached, then run gatehouse check again; sessions start without its tools until then"
	}
	return strings.Join(k.addCommand(), " ")
}

// addCommand adds the server as it was checked, with the same flags.
func (k *check) addCommand() []string {
	command := []string{"claude", "mcp", "add", "gatehouse", "--", shellWord(ownName()), "serve"}
	o := k.options
	for _, f := range []struct {
		name, value string
		path        bool
	}{
		{"--config", o.config, true}, {"--cli", o.cli, strings.ContainsRune(o.cli, filepath.Separator)},
		{"--cwd", o.cwd, true}, {"--profile", o.profile, false},
		{"--tools", strings.Join(o.tools.families, ","), false}, {"--max-concurrent", o.tools.maxWord(), false},
	} {
		if f.value == "" {
			continue
		}
		if whole, err := filepath.Abs(f.value); err == nil && f.path {
			f.value = whole // the client starts the server in another folder
		}
		command = append(command, f.name, shellWord(f.value))
	}
	return command
}

// ownName is how to start this program: by name if PATH finds this very file,
// else by its path.
func ownName() string {
	own, err := os.Executable()
	if err != nil {
		return "gatehouse"
	}
	found, err := exec.LookPath("gatehouse")
	if err != nil {
		return own
	}
	a, errA := os.Stat(found)
	b, errB := os.Stat(own)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return "gatehouse"
	}
	return own
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,\\-]+$`)

// shellWord quotes s for a POSIX shell where it has to be.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
