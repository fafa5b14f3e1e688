package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// redactionMark starts every placeholder of a redacted text. An input that holds
// one was copied from what a client may see, and is not what would run.
const redactionMark = "[REDACTED:"

var errApprover = errors.New("this question wants a person")

// Answer gives a person's or a caller's word on a pending action. The code is
// PERMISSION_REQUEST_NOT_FOUND for one that was answered, withdrawn or timed
// out, PERMISSION_DENIED where policy forbids the answer (the question stays
// open), INVALID_ARGUMENT for an input that cannot be used.
func (s *Session) Answer(ctx context.Context, a Answer) error {
	q, err := s.approvals.Get(a.RequestID)
	if err == nil && s.Info().State == Cancelled {
		err = permission.ErrNotFound
	}
	if err != nil {
		return Errorf(PermissionRequestNotFound, "request %q: %w; poll for the actions that are open now", a.RequestID, err)
	}
	if a.Approver == "" {
		a.Approver = "caller"
	}
	if err := s.admitAnswer(ctx, a, q); err != nil {
		return err
	}
	v, err := s.verdict(ctx, a, q)
	if err != nil {
		return err
	}
	s.touch()
	// Rules count before the CLI hears the answer, and only if this one is it.
	if err := s.approvals.Answer(q.ID, v, func() { s.follow(v.Permissions) }); err != nil {
		return Errorf(PermissionRequestNotFound, "request %q: %w", a.RequestID, err)
	}
	s.close(q.ID)
	if len(v.Permissions) > 0 {
		_ = s.remember() // logged; the turn's end writes it again
	}
	return nil
}

func (s *Session) admitAnswer(ctx context.Context, a Answer, q permission.Question) error {
	if a.Allow && q.Decision.Ask.Approver == "human" && a.Approver != "human" {
		return Errorf(PermissionDenied, "answer refused by rule %s: %w; an answer of a client does not count", q.Decision.Rule, errApprover)
	}
	r := s.admission(admission.Answer, "", nil)
	r.Approval = admission.Approval{
		RequestID: q.ID, Tool: q.Request.Tool, Effect: effectWord(a.Allow), InputChanged: len(a.UpdatedInput) > 0,
		PermissionUpdates: a.UpdatedPermissions, Approver: a.Approver, Required: q.Decision.Ask.Approver,
	}
	return s.engine.admit(ctx, r)
}

func effectWord(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}

func (s *Session) verdict(ctx context.Context, a Answer, q permission.Question) (permission.Verdict, error) {
	source := "respond"
	if a.Approver == "human" {
		source = "human"
	}
	if !a.Allow {
		message := a.DenyMessage
		if message == "" {
			message = "Permission denied by caller"
		}
		return permission.Verdict{Message: message, Interrupt: a.Interrupt, Source: source}, nil
	}
	if q.Request.Door == permission.DoorForm {
		return s.fill(ctx, a, q, source)
	}
	input := q.Request.Input
	if len(a.UpdatedInput) > 0 && !bytes.Equal(a.UpdatedInput, input) {
		if err := s.judgeChanged(ctx, a.UpdatedInput, q); err != nil {
			return permission.Verdict{}, err
		}
		input = a.UpdatedInput
	}
	if err := s.checkUpdates(a.UpdatedPermissions); err != nil {
		return permission.Verdict{}, err
	}
	return permission.Verdict{Allow: true, Input: input, Permissions: a.UpdatedPermissions, Source: source}, nil
}

// judgeChanged judges an input that the approver changed: a deny is final.
func (s *Session) judgeChanged(ctx context.Context, input json.RawMessage, q permission.Question) error {
	if err := plainObject(input); err != nil {
		return Errorf(InvalidArgument, "updatedInput: %w", err)
	}
	if holdsMark(input) {
		return Errorf(InvalidArgument, "updatedInput holds a redaction placeholder, so it is not what would run; leave updatedInput out to run the original, or write the value yourself")
	}
	r := q.Request
	r.Input = input
	return s.judgeAgain(ctx, r)
}

// plainObject refuses what two readers could understand differently.
func plainObject(input json.RawMessage) error {
	switch {
	case !json.Valid(input) || !isObject(input):
		return errors.New("want a JSON object, the whole input of the tool")
	case control.Check(input) != nil || !bytes.Equal(control.Sanitize(input), input):
		return fmt.Errorf("holds a key twice, a text that is no Unicode, or more than %d levels; send one plain object", control.MaxDepth)
	}
	return nil
}

// judgeAgain judges what an approver added or changed.
func (s *Session) judgeAgain(ctx context.Context, r permission.Request) error {
	r.Door = permission.DoorAnswer
	d := s.engine.chain.Decide(ctx, r)
	if d.Effect == permission.Allow || d.Effect == permission.Ask && len(d.UpdatedInput) == 0 {
		return nil
	}
	return Errorf(PermissionDenied, "updatedInput refused by rule %s: %s", d.Rule, d.Reason)
}

// holdsMark looks for the placeholder in decoded texts: an escape would hide it.
func holdsMark(input json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return false // the end; what cannot be read was refused before
		}
		if text, ok := tok.(string); ok && strings.Contains(text, redactionMark) {
			return true
		}
	}
}

// permissionUpdate is one entry of updatedPermissions, as the CLI defines it.
type permissionUpdate struct {
	Type        string `json:"type"`
	Destination string `json:"destination"`
	Mode        string `json:"mode"`
	Behavior    string `json:"behavior"`

	Rules []permissionRule `json:"rules"`
}

// updated is what becomes of a mode and rules by updates. It checks updates
// that policy has granted once more for what no policy may grant.
func updated(mode string, rules sessionRules, raw json.RawMessage) (string, sessionRules, error) {
	if len(raw) == 0 {
		return mode, rules, nil
	}
	var list []permissionUpdate
	if err := json.Unmarshal(raw, &list); err != nil {
		return mode, rules, Errorf(InvalidArgument, "updatedPermissions: want an array of updates: %w", errors.Unwrap(err))
	}
	for _, u := range list {
		var err error
		switch {
		case u.Destination != "session":
			err = Errorf(PermissionDenied, "updatedPermissions refused by rule engine.destination: destination %q would write a settings file; only \"session\" may pass", clip(u.Destination))
		case u.Type == "setMode" && u.Mode != "default" && u.Mode != "plan" && u.Mode != "acceptEdits":
			err = Errorf(PermissionDenied, "updatedPermissions refused by rule engine.mode: mode %q is looser than policy can follow", clip(u.Mode))
		case u.Type == "setMode":
			mode = u.Mode
		case u.Type == "addRules":
			rules, err = rules.with(u)
		}
		if err != nil {
			return mode, rules, err
		}
	}
	return mode, rules, nil
}

// checkUpdates says whether updates could be applied now.
func (s *Session) checkUpdates(raw json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, err := updated(s.mode, s.rules, raw)
	return err
}

// applyUpdates follows changes of mode and added rules.
func (s *Session) applyUpdates(raw json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode, rules, err := updated(s.mode, s.rules, raw)
	if err == nil {
		s.mode, s.rules = mode, rules
	}
	return err
}

// follow applies updates of the answer that counts. They were checked; those
// that another answer made impossible in between are left out.
func (s *Session) follow(raw json.RawMessage) {
	if err := s.applyUpdates(raw); err != nil {
		s.engine.log.Warn("updated permissions", "session", s.id, "error", err)
	}
}
