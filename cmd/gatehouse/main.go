// Gatehouse is an MCP server that runs Claude Code sessions in which policy
// decides every tool call, and a command that runs one such session here.
//
// Rules for output:
//   - serve: stdout carries the protocol and nothing else; logs are JSON on stderr.
//   - run, demo: the timeline, or with --json one object a line, goes to stdout;
//     questions and logs go to stderr. Without --json logs are warnings only.
//   - check: the report goes to stdout, with --json as one object.
//   - plugin: the answer goes to stdout; the documents of plugin run come from stdin.
//   - redact: the covered text goes to stdout as it is, controls included; with
//     --check and --json what was found takes its place.
//   - An error is one line on stderr, "gatehouse: " and what to do about it. One
//     in a policy has a line for each place, and below it the line of the file.
//   - Control characters in texts of others are shown escaped, never raw.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes; docs/configuration.md lists them for scripts.
const (
	exitOK          = 0
	exitTurnFailed  = 1   // the turn ended in an error; check: the gate does not hold
	exitUsage       = 2   // the command line or the configuration is wrong
	exitRefused     = 3   // policy refused the start
	exitNoCLI       = 4   // the CLI was not found, or is too old
	exitInterrupted = 130 // a signal ended the session
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != scriptedCommand { // whose environment is looked at
		if err := hide(); err != nil {
			fmt.Fprintln(os.Stderr, "gatehouse:", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	args := commandLine(os.Args)
	context.AfterFunc(ctx, func() { endCommand(args) }) // after a signal
	code := run(ctx, args, os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}

// command is one run of the program, with everything it may touch.
type command struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            environment
	asJSON         bool // --json was given: an error of the command line is an object, too
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	c := &command{stdin: stdin, stdout: stdout, stderr: stderr, env: environ}
	if len(args) > 0 && args[0] == scriptedCommand {
		return c.scripted(args[1:])
	}
	out := &output{Writer: stdout}
	c.stdout = out
	return c.delivered(out, c.dispatch(ctx, args))
}

func (c *command) dispatch(ctx context.Context, args []string) int {
	name := "help"
	switch {
	case len(args) > 0:
		name, args = args[0], args[1:]
	case !isTerminal(c.stdin):
		name = "serve"
	}
	switch name {
	case "serve":
		return c.serve(ctx, args)
	case mpmName:
		return c.mpmServer(ctx, args)
	case "run":
		return c.runSession(ctx, args)
	case "demo":
		return c.demo(ctx, args)
	case "check":
		return c.check(ctx, args)
	case "pending":
		return c.pending(ctx, args)
	case "approve", "deny":
		return c.settle(ctx, name, args)
	case "session":
		return c.session(ctx, args)
	case "audit":
		return c.auditLog(ctx, args)
	case "policy":
		return c.policy(ctx, args)
	case "plugin":
		return c.plugin(ctx, args)
	case "redact":
		return c.redact(ctx, args)
	case "version", "--version", "-version":
		return c.version(args)
	case "help", "--help", "-help", "-h":
		fmt.Fprint(c.stdout, usage)
		return exitOK
	}
	return c.failUsage(fmt.Errorf("command %q is unknown; try gatehouse help", name))
}

const usage = `Gatehouse runs Claude Code sessions under policy.

  gatehouse serve          MCP server on stdin and stdout (default when stdin is no terminal)
  gatehouse mpm-session-server
                           the same, with the tools of an MPM session server
  gatehouse run PROMPT     one session in this terminal, with approvals at the prompt
  gatehouse check          would it work here, and what would be allowed?
  gatehouse pending        what the servers of this user wait for
  gatehouse approve ID     let such a call run; gatehouse deny ID refuses it
  gatehouse session        what sessions did: list, show, tail; gatehouse session help
  gatehouse audit          what was decided: show, verify, export; gatehouse audit help
  gatehouse policy         write, test, explain and roll out policies; gatehouse policy help
  gatehouse plugin         write and try WebAssembly plugins; gatehouse plugin help
  gatehouse redact         cover secrets in files and pipes; gatehouse redact -h
  gatehouse demo           a scripted session; needs nothing installed
  gatehouse version
  gatehouse help

Most commands take --json and -h. Flags of run go before the prompt.
docs/configuration.md describes the configuration file and the exit codes.
`

// fail reports err and returns code.
func (c *command) fail(code int, err error) int {
	fmt.Fprintf(c.stderr, "gatehouse: %s\n", errorLines(err))
	return code
}

// failUsage reports a command line or a configuration that is wrong; with --json
// as an object on stdout.
func (c *command) failUsage(err error) int {
	if c.asJSON && c.printJSON(policyError{ExitCode: exitUsage, Error: err.Error()}) == nil {
		return exitUsage
	}
	return c.fail(exitUsage, err)
}
