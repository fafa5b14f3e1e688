package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/door"
)

// minPrefix is how much of a request's id has to be given, in characters.
const minPrefix = 6

// settle is the commands approve and deny.
func (c *command) settle(ctx context.Context, name string, args []string) int {
	a := door.Answer{Allow: name == "approve"}
	f := flag.NewFlagSet("gatehouse "+name, flag.ContinueOnError)
	yes := new(bool)
	if a.Allow {
		f.BoolVar(yes, "yes", false, "do not ask at the terminal")
	} else {
		f.StringVar(&a.Reason, "reason", "", "`text` that the model reads")
		f.BoolVar(&a.Interrupt, "interrupt", false, "end the turn too")
	}
	if a.Allow {
		f.StringVar(&a.Reason, "reason", "", "`text` for the server's log")
	}
	id, err := c.settleArguments(f, args)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = c.unmarked(name)
	}
	if err == nil && a.Allow && !*yes && !isTerminal(c.stdin) {
		err = errors.New("approve: stdin is no terminal, so nobody can look at the call first; give --yes if you have seen it")
	}
	if err != nil {
		return c.failUsage(err)
	}
	w, err := c.find(ctx, id)
	if err != nil {
		return c.fail(exitTurnFailed, err)
	}
	if a.Allow && !*yes && !c.confirmed(w) {
		fmt.Fprintln(c.stdout, "nothing was answered")
		return exitRefused
	}
	a.ID, a.Digest = w.ID, w.SHA256
	return c.sendAnswer(ctx, w, a)
}

// settleArguments takes flags before and after the id.
func (c *command) settleArguments(f *flag.FlagSet, args []string) (id string, err error) {
	for len(args) > 0 {
		if err := c.parseFlags(f, args); err != nil {
			return "", err
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		if id != "" {
			return "", fmt.Errorf("%s takes one id, got %q too", strings.TrimPrefix(f.Name(), "gatehouse "), args[0])
		}
		id, args = args[0], args[1:]
	}
	if len(id) < minPrefix {
		return "", fmt.Errorf("%s wants the id of a question, or its first %d characters at least; gatehouse pending lists them", strings.TrimPrefix(f.Name(), "gatehouse "), minPrefix)
	}
	return id, nil
}

// find looks for the one open question whose id begins with prefix.
func (c *command) find(ctx context.Context, prefix string) (waiting, error) {
	all, failed, err := c.ask(ctx)
	if err != nil {
		return waiting{}, err
	}
	c.tellFailed(failed, nil)
	var found []waiting
	for _, w := range all {
		if strings.HasPrefix(w.ID, prefix) {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return waiting{}, fmt.Errorf("no open question has the id %q: it was answered elsewhere, withdrawn or timed out, or its server has ended; gatehouse pending lists what is open", prefix)
	case 1:
		return found[0], nil
	}
	return waiting{}, fmt.Errorf("%d open questions have an id that begins with %q; give more of it", len(found), prefix)
}

// confirmed shows the question and asks.
func (c *command) confirmed(w waiting) bool {
	group{Count: 1, IDs: []string{w.ID}, Question: w.Question}.show(c.stdout, time.Now())
	fmt.Fprint(c.stdout, "let this run? [y/N] ")
	line, _ := bufio.NewReader(c.stdin).ReadString('\n') // no line is no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// sendAnswer tells the server and says what came of it.
func (c *command) sendAnswer(ctx context.Context, w waiting, a door.Answer) int {
	err := door.Send(ctx, w.socket, a)
	if said, ok := errors.AsType[*door.Error](err); ok {
		switch said.Word {
		case string(engine.PermissionDenied):
			return c.fail(exitRefused, err)
		case string(engine.PermissionRequestNotFound):
			return c.fail(exitTurnFailed, fmt.Errorf("%s was answered elsewhere, withdrawn or timed out; nothing was changed", w.ID))
		}
	}
	if err != nil {
		return c.fail(exitTurnFailed, err)
	}
	verb := "denied"
	if a.Allow {
		verb = "approved"
	}
	fmt.Fprintf(c.stdout, "%s %s %s\n", verb, w.ID, escapeControl(w.Tool))
	return exitOK
}
