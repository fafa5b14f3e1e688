// Package mpmserver offers an engine.Engine as the five tools of an MPM session
// server: mpm_session_start, _continue, _status, _list and _stop.
//
// Start at [Tools]; package mcpserver serves them, alone or beside its own:
//
//	mcpserver.New(eng, &mcpserver.Options{Further: mpmserver.Tools(mpmserver.Options{})})
//
// A call that starts or continues a session blocks until its turn has ended.
package mpmserver

import (
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
)

// Options configures the tools. The zero value works.
type Options struct {
	WorkingDirectory string        // of sessions whose caller names none; empty: the engine's first root
	Timeout          time.Duration // of a turn whose caller gives none; 0 = the engine's own limit

	Model           string
	AllowedTools    []string
	DisallowedTools []string
	PermissionMode  string   // see engine.StartParams
	TicketTools     []string // taken away where no_tickets is asked for, as rules
}

// Tools are the five tools.
func Tools(o Options) []mcpserver.Tool { return nil }
