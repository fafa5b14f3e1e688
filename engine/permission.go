package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// HandleRequest answers what the CLI asks.
func (p *process) HandleRequest(ctx context.Context, r control.Request) (any, error) {
	switch r.Subtype {
	case "can_use_tool":
		return p.canUseTool(ctx, r), nil
	case "hook_callback":
		return p.hookCallback(ctx, r), nil
	case "elicitation":
		return p.elicit(ctx, r), nil
	}
	p.session.notice("protocol_error", fmt.Sprintf("control request %q is not known; it was refused", clip(r.Subtype)), nil)
	return nil, fmt.Errorf("unsupported control request subtype: %s", clip(r.Subtype))
}

// allowAnswer always carries the input: the CLI refuses an allow without it, and
// what runs is then exactly what was judged and shown.
type allowAnswer struct {
	Behavior           string          `json:"behavior"`
	UpdatedInput       json.RawMessage `json:"updatedInput"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
	ToolUseID          string          `json:"toolUseID,omitempty"`
}

type denyAnswer struct {
	Behavior  string `json:"behavior"`
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt,omitempty"`
}

// canUseTool is the decision point.
func (p *process) canUseTool(ctx context.Context, r control.Request) any {
	s := p.session
	input := r.Fields["input"]
	if !isObject(input) || r.String("tool_name") == "" {
		s.notice("protocol_error", "a permission request could not be read (engine.decode); it was denied", map[string]any{"toolUseID": clip(r.String("tool_use_id"))})
		return denyAnswer{Behavior: "deny", Message: "the permission request could not be read (engine.decode)"}
	}
	title := strings.TrimSpace(r.String("display_name") + " " + r.String("description"))
	req := s.request(permission.DoorAsk, r.String("tool_name"), r.String("tool_use_id"), r.String("agent_id"), title, input)
	d, judged := s.memo.Take(req, s.engine.chain.Revision())
	if !judged {
		d = s.judge(ctx, req)
	}
	switch d.Effect {
	case permission.Allow:
		return p.allow(req, req.Input, nil, d, "policy", "")
	case permission.Modify:
		return p.allow(req, d.UpdatedInput, nil, d, "policy", "")
	case permission.Ask:
		return p.ask(ctx, req, d)
	}
	return p.deny(ctx, req, d)
}

// isObject reports whether raw starts as a JSON object; the stream has checked the rest.
func isObject(raw json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimLeft(string(raw[:min(len(raw), 16)]), " \t\r\n"), "{")
}

// judge asks the policies, and counts.
func (s *Session) judge(ctx context.Context, r permission.Request) permission.Decision {
	d := s.engine.chain.Decide(ctx, r)
	if d.Effect == permission.Ask && s.engine.o.Unattended {
		d.Effect, d.Reason = permission.Deny, "nobody can answer here, and "+lowerFirst(d.Reason)
		d.AgentMessage = "This call needs an approval, and nobody can give one in this session (rule " + d.Rule + "). Find a way that needs none, or say what you would have done."
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toolCalls++
	switch {
	case d.Effect >= permission.Deny:
		s.denies++
	case d.Effect == permission.Ask:
		s.asks++
	}
	return d
}

func lowerFirst(s string) string {
	if s == "" {
		return "no rule allows the call"
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// permissionRecord is the payload of a permission_result event.
type permissionRecord struct {
	RequestID   string          `json:"requestId,omitempty"`
	ToolUseID   string          `json:"toolUseID"`
	AgentID     string          `json:"agentID,omitempty"`
	ToolName    string          `json:"toolName"`
	Input       json.RawMessage `json:"input,omitempty"`
	InputSHA256 string          `json:"inputSha256"`
	Behavior    string          `json:"behavior"`
	Source      string          `json:"source"`
	Rule        string          `json:"rule"`
	Reason      string          `json:"reason,omitempty"`
	Rules       []string        `json:"rules,omitempty"`
	Message     string          `json:"message,omitempty"`
	Interrupt   bool            `json:"interrupt,omitempty"`
	Changed     bool            `json:"inputChanged,omitempty"`
	Revision    string          `json:"policyRevision,omitempty"`
	Diagnostics []string        `json:"diagnostics,omitempty"`
}

func record(r permission.Request, d permission.Decision, behavior, source, requestID string) permissionRecord {
	return permissionRecord{
		RequestID: requestID, ToolUseID: r.ToolUseID, AgentID: r.AgentID, ToolName: r.Tool, Input: r.Input, InputSHA256: digest(r.Input),
		Behavior: behavior, Source: source, Rule: d.Rule, Reason: d.Reason, Rules: d.Rules, Revision: d.Revision, Diagnostics: d.Diagnostics,
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// allow records the decision, then lets the call run with input.
func (p *process) allow(r permission.Request, input, permissions json.RawMessage, d permission.Decision, source, requestID string) any {
	rec := record(r, d, "allow", source, requestID)
	if digest(input) != rec.InputSHA256 {
		rec.Input, rec.InputSHA256, rec.Changed = input, digest(input), true
	}
	p.session.append(event.PermissionResult, rec)
	p.session.trip.allow(r.ToolUseID)
	return allowAnswer{Behavior: "allow", UpdatedInput: input, UpdatedPermissions: permissions, ToolUseID: r.ToolUseID}
}

// deny records the decision and tells the model why.
func (p *process) deny(_ context.Context, r permission.Request, d permission.Decision) any {
	rec := record(r, d, "deny", "policy", "")
	rec.Message, rec.Interrupt = d.Message(), d.Effect == permission.Halt || p.session.tooManyDenials()
	p.session.append(event.PermissionResult, rec)
	return denyAnswer{Behavior: "deny", Message: rec.Message, Interrupt: rec.Interrupt}
}

// tooManyDenials counts a denial of this turn; past the bound the turn is ended,
// since a model that keeps trying costs money and patience.
func (s *Session) tooManyDenials() bool {
	s.mu.Lock()
	s.deniesInTurn++
	over := s.engine.o.MaxDenials > 0 && s.deniesInTurn == s.engine.o.MaxDenials
	s.mu.Unlock()
	if over {
		s.notice("limit", fmt.Sprintf("%d calls were denied in this turn ([limits] max_denials); the turn is interrupted", s.engine.o.MaxDenials), nil)
	}
	return over
}

// ask opens a question and holds the CLI's request until it is answered; the CLI
// waits without a limit of its own.
func (p *process) ask(ctx context.Context, r permission.Request, d permission.Decision) any {
	s := p.session
	shown := r
	if len(d.UpdatedInput) > 0 {
		shown.Input = d.UpdatedInput
	}
	q, err := s.open(shown, d)
	if err != nil {
		return p.deny(ctx, r, s.overflow(d, err))
	}
	v := p.await(ctx, q)
	if v.Allow {
		return p.allow(shown, v.Input, v.Permissions, d, v.Source, q.ID)
	}
	rec := record(shown, d, "deny", v.Source, q.ID)
	rec.Message, rec.Interrupt = v.Message, v.Interrupt || s.tooManyDenials()
	s.append(event.PermissionResult, rec)
	return denyAnswer{Behavior: "deny", Message: v.Message, Interrupt: rec.Interrupt}
}

// await holds a question until somebody or something settles it.
func (p *process) await(ctx context.Context, q permission.Question) permission.Verdict {
	v := p.session.approvals.Wait(ctx, q)
	p.session.close(q.ID)
	if v.Source == "cancel" && p.ctx.Err() == nil && p.exitedEarly() == "" {
		v.Source = "cli" // the CLI withdrew its question
	}
	return v
}

// overflow is the denial of a question that found no place.
func (s *Session) overflow(d permission.Decision, err error) permission.Decision {
	d.Effect, d.Rule, d.Reason = permission.Deny, "engine.max_pending", fmt.Sprintf("%s (%d, [limits] max_pending)", err, s.engine.o.MaxPending)
	d.AgentMessage = ""
	return d
}

// open registers the question and tells clients of it.
func (s *Session) open(r permission.Request, d permission.Decision) (permission.Question, error) {
	timeout := s.approvalTimeout(d)
	q, err := s.approvals.Open(r, d, timeout)
	if err != nil {
		return q, err
	}
	e := s.append(event.PermissionAsked, newAction(q, timeout))
	var shown Action
	if json.Unmarshal(e.Data, &shown) != nil || shown.RequestID == "" {
		shown = Action{Type: "permission", RequestID: q.ID, ToolName: r.Tool, ToolUseID: r.ToolUseID, Summary: "[withheld: redaction ended with an error]", CreatedAt: q.Created, ExpiresAt: q.Deadline}
	}
	s.mu.Lock()
	s.actions[q.ID] = shown
	err = s.updateLocked(asked)
	s.mu.Unlock()
	if err != nil {
		s.engine.log.Warn("question", "session", s.id, "error", err)
	}
	return q, nil
}

func (s *Session) approvalTimeout(d permission.Decision) time.Duration {
	if d.Ask.TimeoutSeconds > 0 {
		return time.Duration(d.Ask.TimeoutSeconds) * time.Second
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approvalTTL
}

// close takes a question off the list.
func (s *Session) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.actions, id)
	if len(s.actions) == 0 && s.state == Waiting {
		t := settled
		if s.proc == nil || !s.proc.inTurn {
			t = settledIdle
		}
		if err := s.updateLocked(t); err != nil {
			s.engine.log.Warn("question settled", "session", s.id, "error", err)
		}
	}
}

// summaryShown bounds the one-line text of an action, in bytes.
const summaryShown = 300

func newAction(q permission.Question, timeout time.Duration) Action {
	r, d := q.Request, q.Decision
	a := Action{
		Type: "permission", RequestID: q.ID, ToolName: r.Tool, Input: r.Input, InputSHA256: digest(r.Input),
		Summary: summary(r), Description: visible(r.Title), Rule: d.Rule, Reason: d.Reason, ToolUseID: r.ToolUseID, AgentID: r.AgentID,
		Approver: d.Ask.Approver, CreatedAt: q.Created.UTC(), ExpiresAt: q.Deadline.UTC(), TimeoutMS: timeout.Milliseconds(),
	}
	switch {
	case r.Door == permission.DoorForm:
		a.Type, a.Form = "form", formOf(r.Input)
	case r.Tool == "AskUserQuestion":
		a.Type, a.Questions = "question", field(r.Input, "questions")
	case r.Tool == "ExitPlanMode":
		a.Type = "plan"
		_ = json.Unmarshal(field(r.Input, "plan"), &a.Plan) // no text: the input shows it
	}
	return a
}

func field(object json.RawMessage, key string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return nil
	}
	return m[key]
}

// summary is one line made here from the real input, never the model's own words.
func summary(r permission.Request) string {
	text := r.Tool
	for _, key := range []string{"command", "file_path", "notebook_path", "url", "pattern", "query"} {
		var value string
		if json.Unmarshal(field(r.Input, key), &value) == nil && value != "" {
			text += ": " + visible(value)
			break
		}
	}
	if r.Door == permission.DoorForm {
		text = formOf(r.Input).summary()
	}
	if len(text) > summaryShown {
		text = fmt.Sprintf("%s… (%d bytes of input)", strings.ToValidUTF8(text[:summaryShown], ""), len(r.Input))
	}
	return text
}

// visible escapes what a reader could not see: control, bidi and zero-width characters.
func visible(s string) string {
	quoted := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}
