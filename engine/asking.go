package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

// ask opens a question and holds the CLI's request until it is answered; the CLI
// waits without a limit of its own.
func (p *process) ask(ctx context.Context, r permission.Request, d permission.Decision) any {
	s := p.session
	shown := r
	if len(d.UpdatedInput) > 0 {
		shown.Input = d.UpdatedInput
	}
	if granted := s.grants.use(shown, d, s.engine.chain.Revision(), time.Now()); granted != "" {
		return p.allow(ctx, shown, shown.Input, nil, d, "grant", questionRef{id: granted})
	}
	q, err := s.open(shown, d)
	if err != nil {
		return p.deny(ctx, r, s.overflow(d, err))
	}
	defer s.toldOf(q)
	ref := s.refer(q.ID)
	v := p.await(ctx, q)
	if v.Allow {
		if v.Judged != nil {
			d = d.With(*v.Judged)
			d.Plugins = v.Judged.Plugins // of what runs
		}
		answer := p.allow(ctx, shown, v.Input, v.Permissions, d, v.Source, ref)
		if _, runs := answer.(allowAnswer); runs && v.Judged == nil {
			s.grants.add(q, time.Now())
		}
		return answer
	}
	rec := record(shown, d, "deny", v.Source, q.ID)
	rec.Message, rec.Interrupt, rec.about.shown = v.Message, v.Interrupt || s.tooManyDenials(), ref.shown
	s.denied(ctx, &rec)
	return denyAnswer{Behavior: "deny", Message: v.Message, Interrupt: rec.Interrupt}
}

// await holds a question until somebody or something settles it.
func (p *process) await(ctx context.Context, q permission.Question) permission.Verdict {
	v := p.session.approvals.Wait(ctx, q)
	if v.Source == "timeout" {
		p.session.noteExpired(q)
	}
	p.session.close(q.ID)
	if v.Source == "cancel" && p.ctx.Err() == nil && p.exitedEarly() == "" {
		v.Source = "cli" // the CLI withdrew its question
	}
	if v.Source == "timeout" && q.Decision.Ask.OnTimeout == permission.Halt {
		v.Interrupt = true
	}
	return v
}

// overflow is the denial of a question that found no place.
func (s *Session) overflow(d permission.Decision, err error) permission.Decision {
	if errors.Is(err, errAskRate) {
		d = deniedBy(d, "engine.ask_rate", fmt.Sprintf("%s (%d, [limits] max_questions)", err, s.engine.o.MaxQuestions))
		d.AgentMessage = "This call needs an approval, and this session has asked for too many in the last minute (engine.ask_rate). Do without it for now."
		return d
	}
	return deniedBy(d, "engine.max_pending", fmt.Sprintf("%s (%d, [limits] max_pending)", err, s.engine.o.MaxPending))
}

// open registers the question and tells clients of it.
func (s *Session) open(r permission.Request, d permission.Decision) (permission.Question, error) {
	if !s.asked.take(time.Now(), s.engine.o.MaxQuestions) {
		return permission.Question{}, errAskRate
	}
	timeout := s.approvalTimeout(d)
	q, err := s.approvals.Open(r, d, timeout)
	if err != nil {
		return q, err
	}
	s.untell(q)
	e := s.add(event.Payload{Kind: event.PermissionAsked, Tool: r.Tool}, s.newAction(q, timeout))
	var shown Action
	if json.Unmarshal(e.Data, &shown) != nil || shown.RequestID != q.ID { // withheld, or what names the question was covered
		shown = Action{Type: "permission", RequestID: q.ID, ToolName: r.Tool, ToolUseID: r.ToolUseID, Summary: "[withheld: redaction ended with an error]", CreatedAt: q.Created, ExpiresAt: q.Deadline}
	}
	shown.Redactions, shown.digest = e.Redactions, digest(e.Data)
	s.noteAsked(q, shown.digest)
	s.mu.Lock()
	s.actions[q.ID] = shown
	err = s.updateLocked(asked)
	s.mu.Unlock()
	if err != nil {
		s.engine.log.Warn("question", "session", s.id, "error", err)
	}
	s.keepState()
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
		if (s.proc == nil || !s.proc.inTurn) && (s.working == nil || s.working.own || s.working.over) {
			t = settledIdle
			s.working.endLocked(Result{SessionID: s.id})
		}
		if err := s.updateLocked(t); err != nil {
			s.engine.log.Warn("question settled", "session", s.id, "error", err)
		}
	}
}

// summaryShown bounds the one-line text of an action, in bytes.
const summaryShown = 300

// newAction is the question as clients see it, but for the redaction on its way
// into an event. What is cut here is redacted before.
func (s *Session) newAction(q permission.Question, timeout time.Duration) Action {
	r, d := q.Request, q.Decision
	cover := func(text string) string {
		return s.redactSort(event.Payload{Sink: event.SinkEvent, Kind: event.PermissionAsked, Tool: r.Tool}, text)
	}
	a := Action{
		Type: "permission", RequestID: q.ID, ToolName: r.Tool, Input: r.Input, InputSHA256: digest(r.Input),
		Summary: summary(r, cover), Description: visible(r.Title), Rule: d.Rule, Reason: visible(d.Reason), ToolUseID: r.ToolUseID, AgentID: r.AgentID,
		Approver: d.Ask.Approver, Approvers: d.Ask.Approvers, Quorum: d.Ask.Quorum, ScopeTTL: d.Ask.TTLSeconds,
		Fields: actionFields(r.Input, d.Ask.Fields, cover), CreatedAt: q.Created.UTC(), ExpiresAt: q.Deadline.UTC(), TimeoutMS: timeout.Milliseconds(),
	}
	if grantKey(r, d) != "" {
		a.Scope = d.Ask.Scope
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
// cover redacts a text that is too long.
func summary(r permission.Request, cover func(string) string) string {
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
		text = cover(text)
	}
	if len(text) > summaryShown {
		text = fmt.Sprintf("%s… (%d bytes of input)", strings.ToValidUTF8(text[:summaryShown], ""), len(r.Input))
	}
	return text
}

// visible escapes what a reader could not see: control, bidi and zero-width characters.
func visible(s string) string { return visibleBut(s, "") }

// visibleBut leaves the characters of but as they are.
func visibleBut(s, but string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // most are plain
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if part := s[i : i+size]; unseen.Rune(r) && !strings.ContainsRune(but, r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.QuoteToASCII(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(part)
		}
		i += size
	}
	return b.String()
}
