package mpmserver

import (
	"context"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (f *family) status() mcpserver.Tool {
	no := false
	return mcpserver.Tool{
		Name:        "mpm_session_status",
		Title:       "Look at a session",
		Description: "Status, times, folder and last output of one session.",
		Annotations: mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
		Run:         f.runStatus,
		Fail:        refused,
	}
}

// foundView is the answer for a session that is there.
type foundView struct {
	Found bool `json:"found"` // always true
	sessionView
}

// missingView is the answer for one that is not: no failure, the client asked.
type missingView struct {
	Found     bool   `json:"found"` // always false
	SessionID string `json:"session_id"`
	Error     string `json:"error"`
}

func (f *family) runStatus(ctx context.Context, c mcpserver.Call) (*mcp.CallToolResult, error) {
	id := c.Required("session_id")
	if err := c.Err(); err != nil {
		return nil, err
	}
	s, whole, err := inspect(ctx, c.Engine, id)
	switch {
	case engine.CodeOf(err) == engine.SessionNotFound:
		return text(missingView{SessionID: id, Error: "Session not found: " + id})
	case err != nil:
		return nil, err
	}
	return text(foundView{true, viewOf(s.Info(), whole)})
}

// inspect asks for the session with its folder, and where policy shows that to
// nobody, without.
func inspect(ctx context.Context, e *engine.Engine, id string) (s *engine.Session, whole bool, err error) {
	s, err = e.Inspect(ctx, id, true)
	if engine.CodeOf(err) != engine.PermissionDenied {
		return s, true, err
	}
	s, err = e.Inspect(ctx, id, false)
	return s, false, err
}
