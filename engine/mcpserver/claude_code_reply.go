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
	wait, blocking := c.wait(), s.blocking(&c.arguments)
	if c.err != nil {
		return nil, c.err
	}
	if blocking {
		return s.replyBlocking(ctx, c, p)
	}
	session, err := s.engine.Session(p.SessionID)
	if resumes(session, err, p) {
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
	a.Warnings = append(a.Warnings, unused(&c.arguments)...)
	return a, nil
}

// resumes says whether a reply is a resume by its token: of a session that was looked
// for in vain, or that was stopped.
func resumes(session *engine.Session, err error, p engine.ResumeParams) bool {
	return engine.CodeOf(err) == engine.SessionNotFound || err == nil && p.Token != "" && session.Info().Stopped
}

// replyBlocking is reply that waits for its turn.
func (s *server) replyBlocking(ctx context.Context, c call, p engine.ResumeParams) (any, error) {
	p.Reply.SessionInitTimeout = startWithin(p.Reply.SessionInitTimeout)
	session, err := s.engine.Session(p.SessionID)
	if engine.CodeOf(err) == engine.SessionNotFound && s.byID && p.Token == "" {
		return s.replyByID(ctx, c, p)
	}
	if resumes(session, err, p) {
		turn, err := s.engine.BeginResume(ctx, p)
		if err != nil {
			return nil, err
		}
		return awaitTurn(ctx, c, turn)
	}
	if err != nil {
		return nil, err
	}
	turn, err := session.Begin(ctx, p.Reply)
	if err != nil {
		return nil, err
	}
	a, err := awaitTurn(ctx, c, turn)
	a.Warnings = append(a.Warnings, unused(&c.arguments)...)
	return a, err
}

// replyByID continues a session that is only kept, as clients of the first version
// do, who know no token: with the options it was started with and no others.
func (s *server) replyByID(ctx context.Context, c call, p engine.ResumeParams) (any, error) {
	if p.At != "" {
		return nil, invalid("resumeSessionAt: needs the session's resumeToken")
	}
	turn, err := s.engine.Continue(ctx, p.SessionID, p.Reply)
	if err != nil {
		return nil, err
	}
	a, err := awaitTurn(ctx, c, turn)
	a.Warnings = append(a.Warnings, unused(&c.arguments)...)
	return a, err
}

// unused warns of options of a session that keeps those it has.
func unused(a *arguments) []string {
	names := unusedOptions(a)
	if len(names) == 0 {
		return nil
	}
	return []string{"the session keeps the options it was started with; not used: " + strings.Join(names, ", ")}
}

// replyParameters are those of every reply; the others are for a resume from disk.
var replyParameters = []string{"sessionId", "prompt", "forkSession", "sessionInitTimeoutMs", "permissionRequestTimeoutMs", "timeout", "waitMs"}

// resumeParams reads all of them. Policy sees, of a reply, what is used for it.
func resumeParams(a *arguments) engine.ResumeParams {
	p := engine.ResumeParams{
		SessionID: a.required("sessionId"), Token: a.text("resumeToken"), At: a.text("resumeSessionAt"),
		Reply: engine.ReplyParams{
			Prompt:             a.required("prompt"),
			Fork:               a.boolean("forkSession", false),
			SessionInitTimeout: a.millis("sessionInitTimeoutMs"),
			PermissionTimeout:  a.millis("permissionRequestTimeoutMs"),
			TurnTimeout:        a.millis("timeout"),
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
