package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The actions of claude_code_check.
const (
	actionPoll    = "poll"
	actionRespond = "respond_permission"
)

func (s *server) claudeCodeCheck() tool {
	// Destructive, because an answer can let a tool call run: clients that
	// approve harmless tools by themselves must not approve this one.
	yes := true
	return tool{
		name:  "claude_code_check",
		title: "Poll a session, answer its questions",
		description: "poll: events since cursor, open questions (actions), result. " +
			"respond_permission: answer one question, then as poll. Use waitMs instead of polling often.",
		annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		run:         s.check,
	}
}

func (s *server) check(ctx context.Context, c call) (any, error) {
	action := c.action(actionPoll, actionRespond)
	id := c.required("sessionId")
	o, wait := readOptions(&c.arguments), c.wait()
	var answer engine.Answer
	switch action {
	case actionRespond:
		answer = answerOf(&c.arguments)
		// Without a cursor the reader's place is unknown: sending events, and a
		// nextCursor behind them, would make him skip what he has not read.
		o.noEvents = o.noEvents || o.cursor == nil
	case actionPoll:
		c.only(actionRespond, "requestId", "decision", "denyMessage", "updatedInput", "updatedPermissions", "interrupt")
	}
	if c.err != nil {
		return nil, c.err
	}
	session, err := s.engine.Session(id)
	if engine.CodeOf(err) == engine.SessionNotFound { // one that is only kept is shown like one in a list
		session, err = s.engine.Inspect(ctx, id, false)
	}
	if err != nil {
		return nil, err
	}
	if action == actionRespond {
		if err := session.Answer(ctx, answer); err != nil {
			return nil, err
		}
	}
	return await(ctx, session, o, wait, c.progress), nil
}

// action reads the action, which is required.
func (a *arguments) action(words ...string) string {
	if !a.has("action") {
		a.fail("action: is required, one of %s", strings.Join(words, ", "))
	}
	return a.choice("action", "", words...)
}

// only refuses arguments that would be ignored without the given action. An
// empty text and false are how some clients say "not set".
func (a *arguments) only(action string, names ...string) {
	for _, name := range names {
		switch string(a.values[name]) {
		case "", `""`, "false":
		default:
			a.fail("%s: goes with action %s only", name, action)
		}
	}
}

// answerOf reads the arguments of respond_permission.
func answerOf(a *arguments) engine.Answer {
	if !a.has("decision") {
		a.fail("decision: is required with action %s, allow or deny", actionRespond)
	}
	w := engine.Answer{
		RequestID:          a.required("requestId"),
		Allow:              a.choice("decision", "", "allow", "deny") == "allow",
		DenyMessage:        a.free("denyMessage"),
		UpdatedInput:       a.open("updatedInput", nil),
		UpdatedPermissions: a.array("updatedPermissions"),
		Interrupt:          a.boolean("interrupt", false),
		Approver:           "caller",
	}
	switch {
	case w.Allow && (w.DenyMessage != "" || w.Interrupt):
		a.fail("denyMessage and interrupt go with decision deny only")
	case !w.Allow && (w.UpdatedInput != nil || w.UpdatedPermissions != nil):
		a.fail("updatedInput and updatedPermissions go with decision allow only")
	}
	return w
}

// array reads an array of objects as sent.
func (a *arguments) array(name string) json.RawMessage {
	var items []json.RawMessage
	if !a.decode(name, "an array", &items) {
		return nil
	}
	for i, item := range items {
		if kindOf(item) != "an object" {
			a.fail("%s[%d]: want an object, got %s", name, i, kindOf(item))
		}
	}
	return a.values[name]
}

// readOptions reads what a poll shows. Defaults follow the response mode.
func readOptions(a *arguments) options {
	full := a.choice("responseMode", "minimal", "minimal", "full") == "full"
	limit := int64(defaultMaxEvents)
	if full {
		limit = maxCount
	}
	o := options{
		full:             full,
		maxEvents:        int(a.integer("maxEvents", limit, 1, maxCount)),
		noEvents:         !a.boolean("includeEvents", true),
		noActions:        !a.boolean("includeActions", true),
		noResult:         !a.boolean("includeResult", true),
		usage:            a.boolean("includeUsage", full),
		modelUsage:       a.boolean("includeModelUsage", full),
		structuredOutput: a.boolean("includeStructuredOutput", full),
		terminalEvents:   a.boolean("includeTerminalEvents", full),
		tools:            a.boolean("includeTools", false),
	}
	if a.has("cursor") {
		cursor := a.integer("cursor", 0, 0, maxCursor)
		o.cursor = &cursor
	}
	return o
}

// pollInterval is the pause we advise between two polls without waitMs, in ms.
func pollInterval(s engine.State) int64 {
	switch {
	case s == engine.Waiting:
		return int64(time.Second / time.Millisecond)
	case s.Busy():
		return int64(3 * time.Second / time.Millisecond)
	}
	return 0
}
