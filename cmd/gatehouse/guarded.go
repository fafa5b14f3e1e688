package main

import (
	"log/slog"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/guard" // serve and run start under it
)

// warnUnguarded says that a guard could not be set up. The server starts all the
// same: its sessions are as safe as before, until it is killed. Of a guard that
// there is the ends of sessions are told. Call it before the first session.
func warnUnguarded(logger *slog.Logger) {
	if pid := guard.PID(); pid != 0 {
		go func() { // ends after a look at the processes of this machine
			if err := cli.UnderGuard(pid); err != nil {
				logger.Warn("guard", "problem", err, "consequence", "what escapes from a session is ended with this process only")
			}
		}()
	}
	if err := guard.Problem(); err != nil {
		logger.Warn("no guard", "problem", err, "consequence", "when this process is killed (kill -9), commands of its sessions may be left running")
	}
}
