package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// listed is how many sessions list shows without --all.
const listed = 20

// sessionList shows what is kept, one line a session.
func (c *command) sessionList(_ context.Context, args []string) int {
	o, store, code := c.openKept("list", args)
	if store == nil {
		return code
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
