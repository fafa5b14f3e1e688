package mpmserver

import (
	"context"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (f *family) proceed() mcpserver.Tool {
	yes := true
	return mcpserver.Tool{
		Name:        "mpm_session_continue",
		Title:       "Continue a session and wait for it",
		Description: "Send a prompt to a session, or to a fork of it, and wait until the turn has ended. Also sessions that were stopped, and those of earlier runs. Answers like mpm_session_start.",
		Annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		Run:         f.runContinue,
		Fail:        turnRefused,
	}
}

func (f *family) runContinue(ctx context.Context, c mcpserver.Call) (*mcp.CallToolResult, error) {
	id := c.Required("session_id")
	limit := f.limit(c)
	p := engine.ReplyParams{
		Prompt: c.Required("prompt"), Fork: c.Boolean("fork", false), TurnTimeout: limit.d, SessionInitTimeout: startTime,
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	t, err := c.Engine.Continue(ctx, id, p)
	if err != nil {
		return nil, err
	}
	return f.answerTurn(ctx, c, t, limit)
}
