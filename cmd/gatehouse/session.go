package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

const sessionUsage = `gatehouse session shows the sessions of this user, of all servers, also of those
that have ended.

  gatehouse session list       newest first; --all, --json
  gatehouse session show ID    what happened in one; --full, --json
  gatehouse session tail ID    the same while it happens; -n EVENTS, --wait, --json

ID is an id, its beginning, or last. Each takes --config and -h. Exit codes: 0 done,
1 there is no such session, or it cannot be read, 2 the command line or the
configuration is wrong, 130 interrupted. docs/sessions.md has more.
`

// session runs one command about sessions that are kept.
func (c *command) session(ctx context.Context, args []string) int {
	if len(args) == 0 {
		return c.failUsage(errors.New("session: say what to do: list, show, tail"))
	}
	switch args[0] {
	case "list":
		return c.sessionList(ctx, args[1:])
	case "show":
		return c.sessionShow(ctx, args[1:])
	case "tail":
		return c.sessionTail(ctx, args[1:])
	case "help", "-h", "-help", "--help":
		fmt.Fprint(c.stdout, sessionUsage)
		return exitOK
	}
	return c.failUsage(fmt.Errorf("session %q is unknown, want one of list, show, tail", args[0]))
}

// sessionOptions are the flags of the session commands, as given.
type sessionOptions struct {
	config string
	json   bool
	all    bool // list
	full   bool // show
	lines  int  // tail
	wait   bool // tail
	id     string
}

// parseSession reads the flags of one of them, before and after the id.
func (c *command) parseSession(name string, args []string) (*sessionOptions, error) {
	o := &sessionOptions{}
	f := flag.NewFlagSet("gatehouse session "+name, flag.ContinueOnError)
	f.StringVar(&o.config, "config", "", "configuration `file`; default: $GATEHOUSE_CONFIG, then the XDG folder")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	switch name {
	case "list":
		f.BoolVar(&o.all, "all", false, fmt.Sprintf("not only the newest %d", listed))
	case "show":
		f.BoolVar(&o.full, "full", false, "nothing shortened or left out")
	case "tail":
		f.IntVar(&o.lines, "n", tailEvents, "`events` to begin with")
		f.BoolVar(&o.wait, "wait", false, "go on when no server has the session any more: it may be resumed")
	}
	err := o.read(c, f, args)
	switch {
	case err != nil:
		return nil, err
	case name == "list" && o.id != "":
		return nil, fmt.Errorf("session list takes no argument, got %q", o.id)
	case name != "list" && o.id == "":
		return nil, fmt.Errorf("session %s: which one? Give an id, its beginning, or last; gatehouse session list shows them", name)
	case o.lines < 0:
		return nil, fmt.Errorf("session tail: -n %d is negative; 0 shows only what comes from now on", o.lines)
	}
	return o, c.notNested("session")
}

func (o *sessionOptions) read(c *command, f *flag.FlagSet, args []string) error {
	for {
		if err := c.parseFlags(f, args); err != nil {
			return err
		}
		if args = f.Args(); len(args) == 0 {
			return nil
		}
		if o.id != "" || args[0] == "" {
			return fmt.Errorf("%s takes one id, got %q too", strings.TrimPrefix(f.Name(), "gatehouse "), args[0])
		}
		o.id, args = args[0], args[1:]
	}
}

// kept opens what is kept of sessions, for reading. Only the keys of the store
// are looked at: a list is wanted also where the rest would not start a server.
func (c *command) kept(o *sessionOptions) (event.Store, error) {
	l, err := loadConfig(organisationFile, o.config, c.env)
	if err != nil {
		return nil, err
	}
	check := &checker{l: l, env: c.env}
	s := check.store(c.env.stateFolder())
	switch {
	case check.err != nil:
		return nil, check.err
	case s.off:
		return nil, errors.New(`no sessions are kept: [store] dir is "off", so they live and end in the memory of their server`)
	case s.dir == "":
		return nil, errHomeless
	}
	return openSessions(s)
}

// openKept reads the flags of a command and opens what is kept. Without a store the
// command is at its end, with code.
func (c *command) openKept(name string, args []string) (o *sessionOptions, store event.Store, code int) {
	o, err := c.parseSession(name, args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, nil, exitOK
	}
	if err == nil {
		store, err = c.kept(o)
	}
	if err != nil {
		return nil, nil, c.failUsage(err)
	}
	return o, store, exitOK
}

// withSession opens what is kept, finds the session asked for and does the work.
func (c *command) withSession(name string, args []string, work func(*sessionOptions, event.Store, keptSession) error) int {
	o, store, code := c.openKept(name, args)
	if store == nil {
		return code
	}
	defer store.Close()
	s, err := c.pick(store, o.id)
	if err == nil {
		err = work(o, store, s)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case err != nil:
		return c.fail(exitTurnFailed, err)
	}
	return exitOK
}
