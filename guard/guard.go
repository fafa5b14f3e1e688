// Package guard leaves nothing behind when a server is killed.
//
// A program that imports it and is started as a server (serve, run,
// mpm-session-server, under that name, or without arguments and without a
// terminal) is the guard: a small process that starts the same program once more,
// with the same arguments, as the server, and waits.
//
//	import _ "github.com/gatehouse-mcp/gatehouse/guard"
//
//	client ── guard ── server ── CLI ── commands
//	             └─ whatever lost its parent (Linux)
//
// When the server has ended, however it ended, the guard ends every process that
// is left of its sessions and exits as the server did, with 128 and the number
// of the signal where one ended it. When the guard is killed the server gets
// SIGTERM and ends its sessions itself. SIGTERM, SIGINT, SIGHUP and SIGQUIT are
// passed on.
//
// On Linux the guard adopts what loses its parent (a sub-reaper), so that no
// process of a session gets away by leaving its group, its session, its parent
// or its environment. Elsewhere on Unix there is no such thing: the guard ends
// what the server's registry and the marker of a session find. On Windows there
// is no guard; a Job Object does its work.
package guard

import (
	"fmt"
	"os"
	"strings"
)

// Variable tells a server which process is its guard: "PID:FD". It counts only
// where that process is the parent, and is taken out of the environment before
// anything is started.
const Variable = "GATEHOUSE_GUARD"

var (
	problem  error    // why there is no guard although there should be one
	guards   *os.File // the line to the guard; nil without
	guardian int      // its process id; 0 without
)

// The work is done in init, as package filter does: what this package needs is
// initialised before the policy engine and the other large packages, so that a
// guard takes a few MB and a start a few ms. It must import little.
func init() {
	if adopt() {
		return
	}
	terminal := isTerminal(os.Stdin)
	switch wanted, err := isServer(os.Args, terminal); {
	case err != nil:
		problem = err
		fallthrough
	case !wanted:
		return
	}
	code, err := stand(terminal)
	if err != nil {
		problem = err // the server starts all the same, and says so
		return
	}
	os.Exit(code)
}

// PID is the process id of this server's guard, 0 where it has none.
func PID() int { return guardian }

// Problem says why this server has no guard: a kill -9 of it may leave processes
// behind. It is nil where there is one, or where none was wanted.
func Problem() error { return problem }

// isServer reports whether a command line starts a server. Without arguments
// the name counts, too: the binary of this program's tests plays others besides.
func isServer(args []string, terminal bool) (bool, error) {
	if len(args) == 0 {
		return false, nil
	}
	name := args[0][strings.LastIndexByte(args[0], '/')+1:]
	switch {
	case strings.HasSuffix(name, ".test"):
		return false, nil
	case strings.TrimSuffix(name, ".exe") == serverName: // whatever follows are its flags
		return len(args) == 1 || !isHelp(args[1]) && args[1] != playedCommand, nil
	case len(args) == 1 && !terminal && !strings.HasPrefix(name, "gatehouse"):
		return false, fmt.Errorf("guard: started as %s without arguments; start it as %s serve", name, name)
	case len(args) == 1:
		return !terminal, nil
	case len(args) == 3 && isHelp(args[2]):
		return false, nil
	}
	return args[1] == "serve" || args[1] == "run" || args[1] == serverName, nil
}

// serverName is a command that serves, and a name under which the program does
// nothing else, except to play what playedCommand names.
const (
	serverName    = "mpm-session-server"
	playedCommand = "scripted-cli"
)

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// isTerminal reports whether f is a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
