package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/door"
)

// watchEvery is the pause between two looks of pending --watch.
const watchEvery = time.Second

// group is several equal questions, shown as one. Each has to be answered.
type group struct {
	Count int      `json:"count"`
	IDs   []string `json:"request_ids"`
	door.Question
}

// pending shows what the servers of this user wait for.
func (c *command) pending(ctx context.Context, args []string) int {
	f := flag.NewFlagSet("gatehouse pending", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "print one JSON object a question")
	again := f.Bool("watch", false, "print what is new until interrupted")
	err := c.parseFlags(f, args)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("pending takes no argument, got %q", f.Arg(0))
	}
	if err == nil {
		err = c.unmarked("pending")
	}
	if err != nil {
		return c.failUsage(err)
	}
	if *again {
		return c.watchPending(ctx, *asJSON)
	}
	all, failed, err := c.ask(ctx)
	if err != nil {
		return c.fail(exitTurnFailed, err)
	}
	c.tellFailed(failed, nil)
	if len(all) == 0 && !*asJSON {
		fmt.Fprintln(c.stdout, "nothing waits for an answer")
	}
	c.showGroups(merged(all), *asJSON)
	return exitOK
}

// watchPending prints each question once, and what is wrong with a server.
func (c *command) watchPending(ctx context.Context, asJSON bool) int {
	told, wrong := map[string]bool{}, map[string]bool{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		all, failed, err := c.ask(ctx)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		if err != nil {
			return c.fail(exitTurnFailed, err)
		}
		wrong = c.tellFailed(failed, wrong)
		open := map[string]bool{}
		var fresh []waiting
		for _, w := range all {
			if open[w.ID] = true; !told[w.ID] {
				fresh = append(fresh, w)
			}
		}
		told = open // what was settled needs no memory
		c.showGroups(merged(fresh), asJSON)
		select {
		case <-ctx.Done():
			return exitInterrupted
		case <-tick.C:
		}
	}
}

// merged puts equal questions together: the same call of the same session,
// asked by the same rule.
func merged(all []waiting) []group {
	type key struct{ socket, session, agent, tool, sha, rule string }
	at := map[key]int{}
	groups := []group{}
	for _, w := range all {
		k := key{w.socket, w.Session, w.Agent, w.Tool, w.SHA256, w.Rule}
		i, seen := at[k]
		if !seen {
			i, at[k] = len(groups), len(groups)
			groups = append(groups, group{Question: w.Question})
		}
		groups[i].Count++
		groups[i].IDs = append(groups[i].IDs, w.ID)
	}
	return groups
}

func (c *command) showGroups(groups []group, asJSON bool) {
	for i, g := range groups {
		if asJSON {
			encoder := json.NewEncoder(c.stdout)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(g) // texts, numbers and times: nothing that cannot be written
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		g.show(c.stdout, time.Now())
	}
}

// show prints a group. Texts of the server come with invisible characters
// escaped already; they are escaped again, since a socket may lie.
func (g group) show(out io.Writer, now time.Time) {
	times := ""
	if g.Count > 1 {
		times = fmt.Sprintf("  ×%d equal, each needs its own answer", g.Count)
	}
	fmt.Fprintf(out, "%s  %s%s\n", strings.Join(escaped(g.IDs), "\n"), escapeControl(g.Tool), times)
	line := func(name, text string) { fmt.Fprintf(out, "  %-9s %s\n", name, text) }
	line("session", escapeControl(g.Session+" in "+g.Cwd))
	if g.Agent != "" {
		line("agent", escapeControl(g.Agent))
	}
	line("rule", escapeControl(g.Rule+": "+g.Reason))
	line("waits", fmt.Sprintf("%s, denied in %s", age(now.Sub(g.Created)), age(g.Deadline.Sub(now))))
	line("answer by", escapeControl(g.who()))
	if g.Scope != "" {
		line("covers", escapeControl(covers(g.Scope, g.ScopeTTL)))
	}
	for _, f := range g.Fields {
		line(escapeControl(f.Pointer), escapeControl(f.Value))
	}
	line("input", fmt.Sprintf("%d bytes, sha256 %s", g.Bytes, escapeControl(g.SHA256)))
	for text := range strings.SplitSeq(g.Input, "\n") {
		fmt.Fprintf(out, "    %s\n", escapeControl(text))
	}
	if g.Cut {
		fmt.Fprintln(out, "  NOT ALL of the input is shown")
	}
}

func escaped(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = escapeControl(s)
	}
	return out
}

func (g group) who() string {
	who := cmp.Or(strings.Join(g.Approvers, ", "), "anybody")
	if g.Quorum > 1 {
		who += fmt.Sprintf("; it takes %d, so far: %s", g.Quorum, cmp.Or(strings.Join(g.ApprovedBy, ", "), "nobody"))
	}
	return who
}

// covers says what else an approval of a scope lets run; ttl is in seconds.
func covers(scope string, ttl int) string {
	what := map[string]string{
		"exact":   "the same call again",
		"rule":    "every call of this tool that the same rules ask about",
		"session": "every call of this session that the same rules ask about",
	}[scope]
	long := "until the session ends"
	if ttl > 0 {
		long = "for " + (time.Duration(ttl) * time.Second).String()
	}
	return cmp.Or(what, scope) + ", of the same agent in the same folder, " + long
}

func age(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
