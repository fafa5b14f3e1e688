package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// HandleRequest answers what the CLI asks.
func (p *process) HandleRequest(ctx context.Context, r control.Request) (any, error) {
	answer, err := p.handleRequest(ctx, r)
	if unpermitted(answer) { // a defect of ours: every allow comes by permitted
		p.session.engine.log.Error("an allow without a permit was held back", "session", p.session.id, "request", clip(r.Subtype))
		return nil, errors.New("the decision was not recorded (" + ruleAudit + ")")
	}
	return answer, err
}

func (p *process) handleRequest(ctx context.Context, r control.Request) (any, error) {
	switch r.Subtype {
	case "can_use_tool":
		return p.canUseTool(ctx, r), nil
	case "hook_callback":
		if r.Unclear != nil && r.String("callback_id") != "PreToolUse" {
			return nil, r.Unclear // there is no answer that holds for every reading
		}
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

	permit permit
}

type denyAnswer struct {
	Behavior  string `json:"behavior"`
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt,omitempty"`
}

// maxSuggestions is how many bytes of the CLI's suggestions policies are told.
const maxSuggestions = 64 << 10

// canUseTool is the decision point.
func (p *process) canUseTool(ctx context.Context, r control.Request) any {
	s := p.session
	input := r.Fields["input"]
	if !isObject(input) || r.String("tool_name") == "" {
		s.notice("protocol_error", "a permission request could not be read (engine.decode); it was denied", map[string]any{"toolUseID": clip(r.String("tool_use_id"))})
		s.unreadable(ctx, permission.DoorAsk, r.String("tool_name"), r.String("tool_use_id"), r.String("agent_id"), input)
		return denyAnswer{Behavior: "deny", Message: "the permission request could not be read (engine.decode)"}
	}
	title := strings.TrimSpace(r.String("display_name") + " " + r.String("description"))
	s.calls.learn(r.String("tool_use_id"), r.String("tool_name"))
	req := s.request(permission.DoorAsk, r.String("tool_name"), r.String("tool_use_id"), r.String("agent_id"), title, input)
	req.Blocked = r.String("blocked_path")
	if list := r.Fields["permission_suggestions"]; len(list) <= maxSuggestions {
		req.Suggested = list
	}
	d, judged := s.memo.Take(req, s.engine.chain.Revision())
	if !judged {
		d = s.judge(ctx, req)
	}
	if lifted, ok := s.lift(req, d); ok {
		return p.allow(ctx, req, req.Input, nil, lifted, byBypass, questionRef{})
	}
	switch d.Effect {
	case permission.Allow:
		return p.allow(ctx, req, req.Input, nil, d, "policy", questionRef{})
	case permission.Modify:
		return p.allow(ctx, req, d.UpdatedInput, nil, d, "policy", questionRef{})
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
	d := s.weigh(ctx, r)
	if d.Effect == permission.Ask && s.engine.o.Unattended {
		d.Effect, d.Reason = permission.Deny, "nobody can answer here, and "+lowerFirst(d.Reason)
		d.AgentMessage = "This call needs an approval, and nobody can give one in this session (rule " + d.Rule + "). Find a way that needs none, or say what you would have done."
	}
	if d.Effect == permission.Ask && s.asksNobody() {
		d = unasked(d)
	}
	if d.Effect == permission.Ask {
		if why := s.unreachable(d.Ask); why != "" {
			d = deniedBy(d, "engine.approvers", fmt.Sprintf("rule %s asks (%s), but %s", d.Rule, d.Reason, why))
		}
	}
	d = s.bound(r, d)
	s.history.judged(r, d, time.Now())
	s.agents.calling(r)
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
	if c := s[0]; c < 'A' || c > 'Z' {
		return s // a letter of another script may be of several bytes
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// permissionRecord is the payload of a permission_result event.
type permissionRecord struct {
	RequestID   string            `json:"requestId,omitempty"`
	ToolUseID   string            `json:"toolUseID"`
	AgentID     string            `json:"agentID,omitempty"`
	ToolName    string            `json:"toolName"`
	Input       json.RawMessage   `json:"input,omitempty"`
	InputSHA256 string            `json:"inputSha256"`
	Behavior    string            `json:"behavior"`
	Source      string            `json:"source"`
	Door        string            `json:"door,omitempty"`  // "inproc" for a tool in this process
	Phase       string            `json:"phase,omitempty"` // there: call or result
	Rule        string            `json:"rule"`
	Reason      string            `json:"reason,omitempty"`
	Rules       []string          `json:"rules,omitempty"`
	Message     string            `json:"message,omitempty"`
	Interrupt   bool              `json:"interrupt,omitempty"`
	Changed     bool              `json:"inputChanged,omitempty"`
	Revision    string            `json:"policyRevision,omitempty"`
	Revisions   map[string]string `json:"policyRevisions,omitempty"` // by layer
	Diagnostics []string          `json:"diagnostics,omitempty"`
	Obligations []string          `json:"obligations,omitempty"` // kinds
	Plugins     []pluginWord      `json:"plugins,omitempty"`     // that were heard

	about outcome
}

func record(r permission.Request, d permission.Decision, behavior, source, requestID string) permissionRecord {
	return permissionRecord{
		RequestID: requestID, ToolUseID: r.ToolUseID, AgentID: r.AgentID, ToolName: r.Tool, Input: r.Input, InputSHA256: digest(r.Input),
		Behavior: behavior, Source: source, Rule: d.Rule, Reason: visible(d.Reason), Rules: d.Rules, Revision: d.Revision, Revisions: d.Revisions, Diagnostics: d.Diagnostics,
		Obligations: kinds(d.Obligations), Plugins: pluginWords(d.Plugins), about: outcome{door: r.Door, decision: d, input: r.Input},
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// questionRef is the question that was put about a call; the zero value: none was.
type questionRef struct {
	id    string // of the request
	shown string // SHA-256 of its event's data, hexadecimal
}

// allow records the decision, then lets the call run with input, unless an
// obligation cannot be met with that input after all, or the record be written.
func (p *process) allow(ctx context.Context, r permission.Request, input, permissions json.RawMessage, d permission.Decision, source string, q questionRef) any {
	runs := r
	runs.Input = input
	d.UpdatedInput = nil
	if d = p.session.bound(runs, d); d.Effect >= permission.Deny {
		return p.denyAsked(ctx, runs, d, q)
	}
	if !p.session.duties.take(r, d) {
		return p.denyAsked(ctx, runs, deniedBy(d, "engine.obligation", fmt.Sprintf("more than %d calls whose output has to be changed run at once", maxDuties)), q)
	}
	p.session.passed(d.Labels)
	rec := record(r, d, "allow", source, q.id)
	if digest(input) != rec.InputSHA256 {
		rec.Input, rec.InputSHA256, rec.Changed = input, digest(input), true
	}
	rec.about.input, rec.about.shown = input, q.shown
	permit, err := p.session.permitted(ctx, &rec)
	if err != nil {
		p.session.duties.takeBack(r, d)
		return p.denyAsked(ctx, runs, denyUnrecorded(d, err), q)
	}
	p.session.tell(r, d)
	p.session.trip.allow(r.ToolUseID)
	p.pass(r, input, d, source)
	return allowAnswer{Behavior: "allow", UpdatedInput: input, UpdatedPermissions: permissions, ToolUseID: r.ToolUseID, permit: permit}
}

// deny records the decision and tells the model why.
func (p *process) deny(ctx context.Context, r permission.Request, d permission.Decision) any {
	return p.denyAsked(ctx, r, d, questionRef{})
}

// denyAsked is deny for a call about which a question was put.
func (p *process) denyAsked(ctx context.Context, r permission.Request, d permission.Decision, q questionRef) any {
	rec := record(r, d, "deny", "policy", q.id)
	rec.about.shown = q.shown
	rec.Message, rec.Interrupt = p.session.refusalText(d), d.Effect == permission.Halt || p.session.tooManyDenials()
	p.session.denied(ctx, &rec)
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
