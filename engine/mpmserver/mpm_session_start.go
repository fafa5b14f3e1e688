package mpmserver

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (f *family) start() mcpserver.Tool {
	yes := true
	return mcpserver.Tool{
		Name:        "mpm_session_start",
		Title:       "Start a session and wait for it",
		Description: "Start a Claude Code session and wait until its first turn has ended. Returns {success, session_id, output, error, messages}.",
		Annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		Run:         f.runStart,
		Fail:        turnRefused,
	}
}

func (f *family) runStart(ctx context.Context, c mcpserver.Call) (*mcp.CallToolResult, error) {
	limit := f.limit(c)
	p := f.startParams(c)
	p.TurnTimeout = limit.d
	if err := c.Err(); err != nil {
		return nil, err
	}
	t, err := c.Engine.Begin(ctx, p)
	if err != nil {
		return nil, err
	}
	return f.answerTurn(ctx, c, t, limit)
}

// startTime is how long the CLI may take to tell of its session. Clients of this
// family know one limit, that of the turn, so this one is out of its way.
const startTime = time.Minute

// startParams has no Raw, so that policies see what is asked for under the names of
// the engine's parameters.
func (f *family) startParams(c mcpserver.Call) engine.StartParams {
	p := engine.StartParams{
		Prompt:             c.Required("prompt"),
		SessionInitTimeout: startTime,
		Cwd:                f.folder(c),
		NoHooks:            c.Boolean("no_hooks", false),
		NoTickets:          c.Boolean("no_tickets", false),
		Model:              f.o.Model,
		AllowedTools:       slices.Clone(f.o.AllowedTools),
		DisallowedTools:    slices.Clone(f.o.DisallowedTools),
		PermissionMode:     f.o.PermissionMode,
	}
	if p.NoTickets {
		p.DisallowedTools = append(p.DisallowedTools, f.o.TicketTools...)
	}
	return p
}

// folder is where a session shall live. Policy and the engine say whether it may.
func (f *family) folder(c mcpserver.Call) string {
	asked := c.Free("working_directory") // "" is how some clients say that they name none
	if asked != "" {
		asked = c.Text("working_directory")
	}
	if asked == "" || filepath.IsAbs(asked) {
		return cmp.Or(asked, f.o.WorkingDirectory)
	}
	base := f.o.WorkingDirectory
	if roots := c.Engine.Roots(); base == "" && len(roots) > 0 {
		base = roots[0]
	}
	return filepath.Join(base, asked)
}
