package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// HandleMessage takes one message of the CLI, in order.
func (p *process) HandleMessage(_ context.Context, kind string, fields map[string]json.RawMessage) {
	s := p.session
	switch kind {
	case "system":
		p.handleSystem(fields)
	case "assistant":
		p.handleAssistant(fields)
	case "user":
		p.handleUser(fields)
	case "stream_event":
		s.noteWords("", false)
		if s.params.PartialMessages {
			p.deltas.handle(fields["event"], fields["parent_tool_use_id"])
		}
	case "result":
		p.handleResult(fields)
	case "rate_limit_event":
		s.noteLimit(fields)
		s.appendPicked(event.Progress, "rate_limit", fields, "rate_limit_info")
	case "transcript_mirror":
	default:
		s.append(event.Progress, map[string]any{"type": "unknown", "messageType": clip(kind)})
	}
}

// HandleNoise tells clients of a line that was not acted upon: of the first one of
// a turn at once, of those after it by their number.
func (p *process) HandleNoise(_ context.Context, reason string) {
	if p.noise++; p.noise == 1 {
		p.session.notice("protocol_error", reason+"; the line was skipped", nil)
	}
}

// tellNoise tells how many lines were skipped since the first one was told.
func (p *process) tellNoise() {
	if more := p.noise - 1; more > 0 {
		p.session.notice("protocol_error", fmt.Sprintf("%d more lines of the CLI were skipped", more), map[string]any{"skipped": more})
	}
	p.noise = 0
}

// HandleUnanswered ends the session: the CLI would go on as if a hook had said so,
// and hand the model what no policy and no redactor saw.
func (p *process) HandleUnanswered(_ context.Context, reason string) {
	p.kill()
	s, reason := p.session, clip(reason)
	s.engine.log.Error("hook of the CLI could not be answered", "session", s.id, "reason", s.forLog(reason))
	s.notice("protocol_error", reason+"; the session was ended, as the CLI would have gone on unjudged", nil)
	s.cancel("a hook of the CLI could not be answered", "gate")
}

const clipped = 200

// clip shortens a text of others that is shown. It cuts between words only: of a
// secret cut in two, neither half would be recognised.
func clip(s string) string {
	if len(s) <= clipped {
		return s
	}
	return s[:strings.LastIndexAny(s[:clipped+1], " \t\n")+1] + "…"
}

// beginning is the first bytes of a name that is compared, not shown.
func beginning(s string) string { return s[:min(len(s), clipped)] }

func merge(kind string, m map[string]any) map[string]any {
	m["type"] = kind
	return m
}

func (p *process) handleAssistant(fields map[string]json.RawMessage) {
	s := p.session
	s.hear(fields, s.appendPicked(event.Output, "assistant", fields, "error", "message", "parent_tool_use_id"))
	if !bytes.Contains(fields["message"], []byte("tool_use")) {
		return
	}
	type block struct{ Type, ID, Name string }
	var message struct{ Content []block }
	if json.Unmarshal(fields["message"], &message) != nil {
		return
	}
	for _, b := range message.Content {
		if b.Type == "tool_use" {
			s.calls.learn(b.ID, b.Name)
			s.mu.Lock()
			s.info.LastToolUseID, s.lastTool = b.ID, lastToolName(b.Name)
			s.mu.Unlock()
		}
	}
}

// toolResult is a tool_result block of a user message.
type toolResult struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

func (p *process) handleUser(fields map[string]json.RawMessage) {
	p.session.noteWords("", false)
	var message struct {
		Content json.RawMessage `json:"content"`
	}
	var blocks []toolResult
	if json.Unmarshal(fields["message"], &message) != nil || json.Unmarshal(message.Content, &blocks) != nil {
		return // a plain text: the prompt told again, or one the CLI made up
	}
	for _, b := range blocks {
		if b.Type != "tool_result" {
			continue
		}
		tool := p.session.calls.tool(b.ToolUseID)
		content := p.session.duties.shown(tool, b.ToolUseID, b.Content)
		p.session.add(event.Payload{Kind: event.ToolResult, Tool: tool, IsError: b.IsError}, map[string]any{
			"type": "tool_result", "tool_use_id": b.ToolUseID, "is_error": b.IsError,
			"content": content, "parent_tool_use_id": fields["parent_tool_use_id"],
		}, p.session.duties.covered(b.ToolUseID, content)...)
		if !b.IsError && !p.session.trip.result(b.ToolUseID) {
			p.unmediated("tool result", b.ToolUseID)
		}
	}
}

type frameSystem struct {
	Subtype        string   `json:"subtype"`
	Tools          []string `json:"tools"`
	Model          string   `json:"model"`
	Version        string   `json:"claude_code_version"`
	PermissionMode string   `json:"permissionMode"`
	McpServers     []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
	TaskID    string `json:"task_id"`
	ToolUseID string `json:"tool_use_id"`
	AgentType string `json:"subagent_type"` // of tasks that are agents
	Status    any    `json:"status"`
	Patch     struct {
		Status string `json:"status"`
	} `json:"patch"`
}

func (p *process) handleSystem(fields map[string]json.RawMessage) {
	f := decodeFrame[frameSystem](fields)
	switch f.Subtype {
	case "init":
		p.handleInit(f)
		return
	case "task_started":
		p.task(f.TaskID, true)
		if f.AgentType != "" {
			p.session.agents.learn(f.TaskID, f.AgentType, f.ToolUseID) // a task of an agent has the agent's id
		}
	case "task_notification":
		p.task(f.TaskID, false)
	case "task_updated":
		if f.Patch.Status == "completed" || f.Patch.Status == "failed" || f.Patch.Status == "killed" {
			p.task(f.TaskID, false)
		}
	case "status":
		p.session.followMode(f.PermissionMode)
	case "api_retry":
		p.session.noteRetry(fields, time.Now())
	}
	delete(fields, "session_id")
	delete(fields, "uuid")
	payload := make(map[string]any, len(fields))
	for k, v := range fields {
		payload[k] = v
	}
	delete(payload, "subtype")
	p.session.append(event.Progress, merge(progressType(f.Subtype), payload))
}

// progressType keeps the names clients know for what the CLI calls otherwise.
func progressType(subtype string) string {
	if subtype == "api_retry" {
		return "retry"
	}
	return clip(subtype)
}

func (p *process) handleInit(f frameSystem) {
	s := p.session
	e := s.append(event.Progress, map[string]any{"type": "init", "model": f.Model, "tools": f.Tools, "claude_code_version": f.Version, "permissionMode": f.PermissionMode})
	var shown struct {
		Tools []string `json:"tools"`
		Model string   `json:"model"`
	}
	_ = json.Unmarshal(e.Data, &shown) // withheld: nothing to show
	s.mu.Lock()
	first := s.info.Tools == nil
	s.info.Tools, s.info.Model, s.info.CLIVersion = shown.Tools, shown.Model, f.Version
	s.started = true
	p.inTurn, p.unstarted = true, ""
	err := s.updateLocked(initialized)
	s.mu.Unlock()
	if err != nil {
		s.engine.log.Warn("session init", "session", s.id, "error", err)
	}
	s.keepState()
	if first {
		s.warnTools(f)
	}
	p.tellOffline(f)
	p.initOnce.Do(func() { close(p.inited) })
}

// maxTasks bounds the background tasks tracked for a process.
const maxTasks = 1000

func (p *process) task(id string, running bool) {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !running:
		delete(p.tasks, id)
	case len(p.tasks) < maxTasks:
		p.tasks[id] = struct{}{}
	}
}
