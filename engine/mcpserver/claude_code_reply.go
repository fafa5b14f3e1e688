package mcpserver

import (
	"context"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *server) claudeCodeReply() tool {
	yes := true
	return tool{
		name:        "claude_code_reply",
		title:       "Continue a Claude Code session",
		description: "Send a follow-up prompt to a session that is idle or error, or to a fork of it. Answers like claude_code.",
		output:      startTool,
		annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		run:         s.reply,
	}
}

func (s *server) reply(ctx context.Context, c call) (any, error) {
	id := c.required("sessionId")
	p := engine.ReplyParams{
		Prompt:             c.required("prompt"),
		Fork:               c.boolean("forkSession", false),
		SessionInitTimeout: c.millis("sessionInitTimeoutMs"),
		PermissionTimeout:  c.millis("permissionRequestTimeoutMs"),
		Raw:                c.raw(),
	}
	wait := c.wait()
	if c.err != nil {
		return nil, c.err
	}
	session, err := s.engine.Session(id)
	if err != nil {
		return nil, err
	}
	from := nextEvent(session)
	continued, err := session.Prompt(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Fork { // a history of its own
		from = 0
	}
	return started(ctx, c, continued, from, wait), nil
}

// nextEvent is the id the session's next event will have.
func nextEvent(s readable) int64 {
	if last := s.Info().LastEventID; last != nil {
		return *last + 1
	}
	return 0
}
