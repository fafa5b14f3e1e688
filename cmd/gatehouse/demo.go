package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// The demo answers its own question after demoPatience at a terminal, where
// somebody may want to answer first, and after demoPause elsewhere.
const (
	demoPatience = 2 * time.Second
	demoPause    = 300 * time.Millisecond
)

// demo plays the built-in scripted session through the real engine and policies.
func (c *command) demo(ctx context.Context, args []string) int {
	o, err := c.parse("demo", args, false)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return c.failUsage(err)
	}
	folder, err := os.MkdirTemp("", "gatehouse-demo-")
	if err != nil {
		return c.fail(exitTurnFailed, err)
	}
	defer os.RemoveAll(folder)
	s, err := c.demoSettings(o, folder)
	if err != nil {
		return c.failUsage(err)
	}
	logger := newLogger(c.stderr, slog.LevelError)
	eng, _, err := build(ctx, s, nil, c.env, logger, false)
	if err != nil {
		return c.failUsage(err)
	}
	prose := c.stdout
	if o.json {
		prose = c.stderr // stdout is for the objects
	}
	fmt.Fprintf(prose, "A scripted stand-in for Claude Code works in a temporary folder; policy profile %q decides.\n\n", s.profile)
	v := newView(c.stdout, o.json)
	code := c.follow(ctx, eng, engine.StartParams{Prompt: demoPrompt, Cwd: s.start}, v, c.demoAsker(prose))
	code = max(code, c.closeEngine(eng, logger))
	if code == exitOK && !o.json {
		fmt.Fprint(c.stdout, v.tally.summary())
	}
	return code
}

const demoPrompt = "Read the README, clean up the build folder and push the release."

// demoSettings are the defaults over a folder that holds a file to read.
func (c *command) demoSettings(o *options, folder string) (*settings, error) {
	readme := filepath.Join(folder, "README.md")
	if err := os.WriteFile(readme, []byte("# Demo\n"), 0o600); err != nil {
		return nil, err
	}
	l := &loaded{fileConfig: defaultConfig(), at: places{}}
	if o.profile != "" {
		l.Profile = o.profile
	}
	s, err := l.check(folder, c.env)
	if err != nil {
		return nil, err
	}
	s.start = s.roots[0]
	s.executable, s.cliArgs, err = demoCommand()
	return s, err
}

// demoAsker reads answers at a terminal and gives its own when none comes.
func (c *command) demoAsker(out io.Writer) *asker {
	a := &asker{out: out, after: demoPause}
	if isTerminal(c.stdin) {
		a.after, a.input = demoPatience, lines(c.stdin, nil)
		return a
	}
	fmt.Fprintf(out, "Standard input is no terminal: the demo itself answers what is asked.\n\n")
	return a
}

// summary says what happened and what to do next.
func (t tally) summary() string {
	var b strings.Builder
	b.WriteString("\nWhat happened:\n")
	list := func(verb string, items []string) {
		for _, item := range items {
			fmt.Fprintf(&b, "  %-8s %s\n", verb, shorten(escapeControl(item), maxShown))
		}
	}
	list("allowed", t.allowed)
	list("denied", t.denied)
	list("asked", t.asked)
	for detector, n := range t.redactions {
		fmt.Fprintf(&b, "  %-8s %s key ×%d\n", "redacted", detector, n)
	}
	b.WriteString("\nNext: gatehouse run \"your task\" in a project folder, or add `gatehouse serve` to your MCP client (README.md).\n")
	return b.String()
}
