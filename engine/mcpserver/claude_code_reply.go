package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *server) claudeCodeReply() tool {
	yes := true
	return tool{
		name:  "claude_code_reply",
		title: "Continue a Claude Code session",
		description: "Send a follow-up prompt to a session that is idle or error, or to a fork of it. Answers like claude_code. " +
			"Parameters without a description are those of claude_code; they count only when a forgotten session is resumed from disk with its resumeToken, and may narrow what it was started with.",
		output:      startTool,
		annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		run:         s.reply,
	}
}

func (s *server) reply(ctx context.Context, c call) (any, error) {
	p := resumeParams(&c.arguments)
	wait := c.wait()
	if c.err != nil {
		return nil, c.err
	}
	session, err := s.engine.Session(p.SessionID)
	if engine.CodeOf(err) == engine.SessionNotFound {
		resumed, err := s.engine.Resume(ctx, p)
		if err != nil {
			return nil, err
		}
		return started(ctx, c, resumed, 0, wait), nil
	}
	if err != nil {
		return nil, err
	}
	from := nextEvent(session)
	continued, err := session.Prompt(ctx, p.Reply)
	if err != nil {
		return nil, err
	}
	if p.Reply.Fork { // a history of its own
		from = 0
	}
	a := started(ctx, c, continued, from, wait)
	if names := unusedOptions(&c.arguments); len(names) > 0 {
		a.Warnings = append(a.Warnings, "the session is in memory and keeps its options; not used: "+strings.Join(names, ", "))
	}
	return a, nil
}

// replyParameters are those of every reply; the others are for a resume from disk.
var replyParameters = []string{"sessionId", "prompt", "forkSession", "sessionInitTimeoutMs", "permissionRequestTimeoutMs", "waitMs"}

// resumeParams reads all of them. Policy sees, of a reply, what is used for it.
func resumeParams(a *arguments) engine.ResumeParams {
	p := engine.ResumeParams{
		SessionID: a.required("sessionId"), Token: a.text("resumeToken"), At: a.text("resumeSessionAt"),
		Reply: engine.ReplyParams{
			Prompt:             a.required("prompt"),
			Fork:               a.boolean("forkSession", false),
			SessionInitTimeout: a.millis("sessionInitTimeoutMs"),
			PermissionTimeout:  a.millis("permissionRequestTimeoutMs"),
			Raw:                map[string]json.RawMessage{},
		},
		Options: sessionOptions(a),
	}
	p.Options.Raw = a.raw()
	for _, name := range replyParameters {
		if v := a.values[name]; v != nil {
			p.Reply.Raw[name] = v
		}
	}
	return p
}

// unusedOptions names what was given for a resume that was not needed. A token
// is not named: clients send it with every reply.
func unusedOptions(a *arguments) []string {
	var names []string
	for name := range a.values {
		if name != "resumeToken" && !slices.Contains(replyParameters, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nextEvent is the id the session's next event will have.
func nextEvent(s readable) int64 {
	if last := s.Info().LastEventID; last != nil {
		return *last + 1
	}
	return 0
}
