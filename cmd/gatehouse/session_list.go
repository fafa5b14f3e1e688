package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// listed is how many sessions list shows without --all.
const listed = 20

// Widths of the table, in characters.
const (
	folderWidth = 32
	clientWidth = 16
	promptWidth = 48
)

// sessionList shows what is kept, one line a session.
func (c *command) sessionList(_ context.Context, args []string) int {
	o, err := c.parseSession("list", args)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return c.failUsage(err)
	}
	store, err := c.kept(o)
	if err != nil {
		return c.failUsage(err)
	}
	defer store.Close()
	all := c.sessions(store)
	shown := all
	if !o.all {
		shown = all[:min(len(all), listed)]
	}
	switch {
	case o.json:
		return c.listObjects(shown)
	case len(all) == 0:
		fmt.Fprintln(c.stdout, errNoSessions)
		return exitOK
	}
	c.listTable(shown, shortLength(all))
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(c.stdout, "%d older: gatehouse session list --all\n", more)
	}
	return exitOK
}

func (c *command) listObjects(all []keptSession) int {
	encoder := json.NewEncoder(c.stdout)
	encoder.SetEscapeHTML(false)
	for _, s := range all {
		if err := encoder.Encode(s); err != nil {
			return c.fail(exitTurnFailed, err)
		}
	}
	return exitOK
}

func (c *command) listTable(all []keptSession, short int) {
	t := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSTATE\tAGE\tTURNS\tCOST\tFOLDER\tCLIENT\tPROMPT")
	now := time.Now()
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t$%.2f\t%s\t%s\t%s\n",
			escapeControl(s.ID[:min(short, len(s.ID))]), escapeControl(s.word()), oneUnit(now.Sub(s.Updated)), s.Turns, s.CostUSD,
			cutLeft(escapeControl(c.env.shortened(s.Cwd)), folderWidth), cmp.Or(cut(escapeControl(s.Client), clientWidth), "-"),
			cut(escapeControl(strings.Join(strings.Fields(s.Title), " ")), promptWidth))
	}
	t.Flush() // an error is stdout's, which keeps it
}

// word is the state for people.
func (s keptSession) word() string {
	switch {
	case s.Note != "":
		return s.State + " (" + s.Note + ")"
	case s.Live && (s.State == "idle" || s.State == "error"):
		return s.State + " (live)" // a server has it ready for a reply
	}
	return s.State
}

// oneUnit is an age in its largest unit, such as 5m or 3d.
func oneUnit(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// cutLeft shortens s to width and keeps its end, which tells folders apart.
func cutLeft(s string, width int) string {
	if runes := []rune(s); len(runes) > width {
		return "…" + string(runes[len(runes)-width+1:])
	}
	return s
}

// shortened writes the home folder as ~.
func (e environment) shortened(path string) string {
	home := e.home()
	if real, err := filepath.EvalSymlinks(home); err == nil && inside(path, real) {
		home = real
	}
	if rel, err := filepath.Rel(home, path); filepath.IsAbs(home) && err == nil && inside(path, home) {
		return filepath.Join("~", rel)
	}
	return path
}
