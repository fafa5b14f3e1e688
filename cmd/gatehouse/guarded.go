package main

import (
	"log/slog"

	"github.com/gatehouse-mcp/gatehouse/guard" // serve and run start under it
)

// warnUnguarded says that a guard could not be set up. The server starts all the
// same: its sessions are as safe as before, until it is killed.
func warnUnguarded(logger *slog.Logger) {
	if err := guard.Problem(); err != nil {
		logger.Warn("no guard", "problem", err, "consequence", "when this process is killed (kill -9), commands of its sessions may be left running")
	}
}
