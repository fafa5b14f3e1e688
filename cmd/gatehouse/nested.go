package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/guard"
	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
)

// notNested refuses a command inside a session: what a session starts is beyond the
// limits of the server that runs it. One that hides its mark is known by who runs it.
func (c *command) notNested(name string) error {
	if err := c.unmarked(name); err != nil {
		return err
	}
	_, belongs, _ := lineage.Above(guard.PID()) // where processes hide, what is known has to do
	if belongs {
		return refusedInside(name, "a server's guard or a session's process runs it")
	}
	return nil
}

func refusedInside(name, sign string) error {
	return fmt.Errorf("%s: refused inside a session of Gatehouse (%s), because what a session starts runs beside the limits of its server; start it outside", name, sign)
}

// unmarked refuses a command where a session's own variable is set, empty or not.
// For commands that ask servers it is enough: these look themselves who asks, and
// tell the session.
func (c *command) unmarked(name string) error {
	for _, line := range c.env {
		variable, _, _ := strings.Cut(line, "=")
		if variable == engine.SessionVariable || runtime.GOOS == "windows" && strings.EqualFold(variable, engine.SessionVariable) {
			return refusedInside(name, engine.SessionVariable+" is set")
		}
	}
	return nil
}
