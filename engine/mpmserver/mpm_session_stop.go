package mpmserver

import (
	"context"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const stopTool = "mpm_session_stop"

func (f *family) stop() mcpserver.Tool {
	yes, no := true, false
	return mcpserver.Tool{
		Name:        stopTool,
		Title:       "Stop a session",
		Description: "End what a session does, and its processes. mpm_session_continue takes it up again.",
		Annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no, IdempotentHint: true},
		Run:         f.runStop,
		Fail:        refused,
	}
}

// stopView is what mpm_session_stop returns.
type stopView struct {
	SessionID string `json:"session_id"`
	Stopped   bool   `json:"stopped"` // false: there is no such session
	Force     bool   `json:"force"`
}

// runStop answers when nothing of the session runs any more.
func (f *family) runStop(ctx context.Context, c mcpserver.Call) (*mcp.CallToolResult, error) {
	a := stopView{SessionID: c.Required("session_id"), Force: c.Boolean("force", false)}
	if err := c.Err(); err != nil {
		return nil, err
	}
	s, err := c.Engine.Find(a.SessionID)
	if engine.CodeOf(err) == engine.SessionNotFound {
		return text(a)
	}
	if err != nil {
		return nil, err
	}
	if err := s.Stop(ctx, engine.StopParams{Reason: stopped, Source: stopTool, Force: a.Force}); err != nil {
		return nil, err
	}
	a.Stopped = true
	return text(a)
}
