package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// notNested refuses a command that starts sessions where a session's own
// variable is set, empty or not: what a session starts is beyond the limits of
// the server that runs it.
func (c *command) notNested(name string) error {
	for _, line := range c.env {
		variable, _, _ := strings.Cut(line, "=")
		if variable == engine.SessionVariable || runtime.GOOS == "windows" && strings.EqualFold(variable, engine.SessionVariable) {
			return fmt.Errorf("%s: refused inside a session of Gatehouse (%s is set), because what a session starts runs beside the limits of its server; start it outside", name, engine.SessionVariable)
		}
	}
	return nil
}
