package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const sessionTool = "claude_code_session"

func (s *server) claudeCodeSession() tool {
	yes, no := true, false
	return tool{
		name:        sessionTool,
		title:       "List, inspect or cancel sessions",
		description: "list all sessions, get one, or cancel one for good.",
		annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no, IdempotentHint: true},
		run:         s.manage,
	}
}

// sessionsAnswer is what claude_code_session returns.
type sessionsAnswer struct {
	Sessions []sessionView `json:"sessions"` // oldest first, never null
	Message  string        `json:"message,omitempty"`
}

func (s *server) manage(ctx context.Context, c call) (any, error) {
	action := c.action("list", "get", "cancel")
	sensitive := c.boolean("includeSensitive", false)
	if sensitive && s.noDetails != "" {
		return nil, engine.Errorf(engine.PermissionDenied, "includeSensitive is refused: %s", s.noDetails)
	}
	if action == "list" {
		c.only("get or cancel", "sessionId")
		if c.err != nil {
			return nil, c.err
		}
		return s.list(ctx, sensitive)
	}
	id := c.required("sessionId")
	if c.err != nil {
		return nil, c.err
	}
	session, err := s.find(ctx, action, id, sensitive)
	if err != nil {
		return nil, err
	}
	var a sessionsAnswer
	if action == "cancel" {
		if err := session.Cancel(ctx, "Cancelled by caller", sessionTool); err != nil {
			return nil, err
		}
		a.Message = "Session " + id + " is cancelled."
	}
	a.Sessions = []sessionView{viewOf(session.Info(), sensitive)}
	return a, nil
}

// find looks the session up. What is shown is a decision unless it is little
// and comes with a cancel, which is decided by itself.
func (s *server) find(ctx context.Context, action, id string, sensitive bool) (*engine.Session, error) {
	if action == "get" || sensitive {
		return s.engine.Inspect(ctx, id, sensitive)
	}
	return s.engine.Find(id)
}

func (s *server) list(ctx context.Context, sensitive bool) (any, error) {
	sessions, err := s.engine.Sessions(ctx, sensitive)
	if err != nil {
		return nil, err
	}
	a := sessionsAnswer{Sessions: make([]sessionView, 0, len(sessions))}
	for _, session := range sessions {
		a.Sessions = append(a.Sessions, viewOf(session.Info(), sensitive))
	}
	slices.SortStableFunc(a.Sessions, func(x, y sessionView) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return a, nil
}

// sessionView is the public record of a session. It never has env, mcpServers,
// sandbox, the executable or the debug file: they can hold secrets, and a
// client has no use for them.
type sessionView struct {
	SessionID    string    `json:"sessionId"`
	ParentID     string    `json:"parentSessionId,omitempty"` // of a fork
	Status       string    `json:"status"`
	CreatedAt    time.Time `json:"createdAt"`
	LastActiveAt time.Time `json:"lastActiveAt"`
	TotalTurns   int       `json:"totalTurns"`
	TotalCostUSD float64   `json:"totalCostUsd"`
	cancellation

	Model           string          `json:"model,omitempty"`
	FallbackModel   string          `json:"fallbackModel,omitempty"`
	PermissionMode  string          `json:"permissionMode"`
	AllowedTools    []string        `json:"allowedTools"`
	DisallowedTools []string        `json:"disallowedTools"`
	Tools           *[]string       `json:"tools,omitempty"`
	MaxTurns        int             `json:"maxTurns,omitempty"`
	MaxBudgetUSD    float64         `json:"maxBudgetUsd,omitempty"`
	Agent           string          `json:"agent,omitempty"`
	Effort          string          `json:"effort,omitempty"`
	Betas           []string        `json:"betas,omitempty"`
	Thinking        *thinkingView   `json:"thinking,omitempty"`
	OutputSchema    json.RawMessage `json:"outputSchema,omitempty"`
	PersistSession  bool            `json:"persistSession"`
	Checkpoints     bool            `json:"enableFileCheckpointing"`
	PartialMessages bool            `json:"includePartialMessages"`
	StrictMcpConfig bool            `json:"strictMcpConfig"`
	Debug           bool            `json:"debug"`
	LastToolUseID   string          `json:"lastToolUseId,omitempty"`
	*sensitiveView
}

type thinkingView struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budgetTokens,omitempty"`
}

// sensitiveView is added with includeSensitive.
type sensitiveView struct {
	Cwd                   string          `json:"cwd"`
	SystemPrompt          *string         `json:"systemPrompt,omitempty"`
	AppendSystemPrompt    string          `json:"appendSystemPrompt,omitempty"`
	Agents                json.RawMessage `json:"agents,omitempty"`
	AdditionalDirectories []string        `json:"additionalDirectories"`
}

// cancellation is shown for a cancelled session, here and in polls.
type cancellation struct {
	CancelledAt     *time.Time `json:"cancelledAt,omitempty"`
	CancelledReason string     `json:"cancelledReason,omitempty"`
	CancelledSource string     `json:"cancelledSource,omitempty"`
}

func cancellationOf(i engine.Info) cancellation {
	if i.CancelledAt.IsZero() {
		return cancellation{}
	}
	return cancellation{&i.CancelledAt, i.CancelledReason, i.CancelledSource}
}

func viewOf(i engine.Info, sensitive bool) sessionView {
	p := i.Params
	v := sessionView{
		SessionID: i.ID, ParentID: i.ParentID, Status: i.State.String(),
		CreatedAt: i.CreatedAt, LastActiveAt: i.LastActiveAt,
		TotalTurns: i.TotalTurns, TotalCostUSD: i.TotalCostUSD, cancellation: cancellationOf(i),
		Model: i.Model, FallbackModel: p.FallbackModel, PermissionMode: i.Mode,
		AllowedTools: listed(p.AllowedTools), DisallowedTools: listed(p.DisallowedTools), Tools: p.Tools,
		MaxTurns: p.MaxTurns, MaxBudgetUSD: p.MaxBudgetUSD,
		Agent: p.Agent, Effort: p.Effort, Betas: p.Betas, OutputSchema: p.OutputSchema,
		PersistSession: p.PersistSession == nil || *p.PersistSession,
		Checkpoints:    p.FileCheckpoints, PartialMessages: p.PartialMessages, StrictMcpConfig: p.StrictMcpConfig,
		Debug: p.Debug || p.DebugFile != "", LastToolUseID: i.LastToolUseID,
	}
	if v.Model == "" { // before the CLI's init
		v.Model = p.Model
	}
	if p.Thinking != "" {
		v.Thinking = &thinkingView{p.Thinking, p.ThinkingBudget}
	}
	if sensitive {
		v.sensitiveView = &sensitiveView{p.Cwd, p.SystemPrompt, p.AppendPrompt, p.Agents, listed(p.AdditionalDirs)}
	}
	return v
}

// listed is never null on the wire.
func listed(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
