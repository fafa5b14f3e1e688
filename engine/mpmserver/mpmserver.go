// Package mpmserver offers an engine.Engine as the five tools of an MPM session
// server: mpm_session_start, _continue, _status, _list and _stop.
//
// Start at [Tools]; package mcpserver serves them, alone or beside its own:
//
//	mcpserver.New(eng, &mcpserver.Options{Further: mpmserver.Tools(mpmserver.Options{})})
//
// A call that starts or continues a session blocks until its turn has ended
// (turn.go), and is then answered from the events of that turn (messages.go,
// output.go). Each tool is in the file of its name. docs/mpm.md describes the
// answers. The package keeps nothing.
package mpmserver

import (
	"embed"
	"encoding/json"
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

//go:embed guide.md
var guide string

//go:embed schema
var schemas embed.FS

// family carries what the tools share.
type family struct {
	o      Options       // fixed
	making chan struct{} // holds one for each answer that is made at the moment
}

// Tools are the five tools.
func Tools(o Options) []mcpserver.Tool {
	f := &family{o, make(chan struct{}, atOnce)}
	tools := []mcpserver.Tool{f.start(), f.proceed(), f.status(), f.list(), f.stop()}
	for i := range tools {
		tools[i].Input = schema(tools[i].Name)
	}
	tools[0].Guide = guide
	return tools
}

// schema reads an embedded schema. A missing file is a mistake in this program.
func schema(name string) json.RawMessage {
	b, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		panic(err)
	}
	return b
}
