package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// mpmName is the command that serves the MPM tools alone, and the name under which
// the program does nothing else.
const mpmName = "mpm-session-server"

// commandLine is what the program was told to do: its arguments, with the command in
// front where it was started under the name of one. The scripted CLI is played
// under every name, since the program starts itself as it.
func commandLine(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	if !startedAsMPM(args[0]) || len(args) > 1 && args[1] == scriptedCommand {
		return args[1:]
	}
	return append([]string{mpmName}, args[1:]...)
}

func startedAsMPM(program string) bool {
	separators := "/"
	if runtime.GOOS == "windows" {
		program, separators = strings.ToLower(program), `/\`
	}
	name := program[strings.LastIndexAny(program, separators)+1:] // as package guard has it
	return strings.TrimSuffix(name, ".exe") == mpmName
}

// mpmServer serves the five MPM tools until stdin ends or a signal comes.
func (c *command) mpmServer(ctx context.Context, args []string) int {
	o, err := c.parse(mpmName, args, false)
	return c.serveTools(ctx, o, err)
}

// mpmUsage begins the help of the command.
const mpmUsage = `mpm-session-server serves Claude Code sessions on stdin and stdout (MCP), as the
tools mpm_session_start, _continue, _status, _list and _stop, under the policies
of Gatehouse. It is gatehouse under another name:

  ln -s "$(which gatehouse)" ~/.local/bin/mpm-session-server

Option              Type    Default  Description
--max-concurrent N  int     5        turns that run at once; further ones wait, first come, first served
--config FILE       file             configuration; default: $GATEHOUSE_CONFIG, then the XDG folder
--cli PATH          path             the Claude Code CLI; default: [cli] executable
--cwd FOLDER        folder           where sessions work; default: $CLAUDE_MPM_USER_PWD, then the current folder
--profile NAME      name    dev      built-in policies: %s
--help                               this text

Variable             Description
CLAUDE_MPM_USER_PWD  where sessions work whose caller names no folder
LOG_LEVEL            DEBUG, INFO (default), WARNING, ERROR or CRITICAL; logs go to stderr
ANTHROPIC_API_KEY    passed on to Claude Code, like the rest of the environment

docs/mpm.md describes the tools, docs/configuration.md every key and exit code.
`

// mpmHelp writes the help to out.
func mpmHelp(f *flag.FlagSet, out io.Writer) {
	f.Usage = func() { fmt.Fprintf(out, mpmUsage, strings.Join(profiles, ", ")) }
}
