package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	if err := s.approvals.Answer(q.ID, v); err != nil {
		return Errorf(PermissionRequestNotFound, "request %q: %w", a.RequestID, err)
	}
	s.close(q.ID)
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
	input := q.Request.Input
	if len(a.UpdatedInput) > 0 && !bytes.Equal(a.UpdatedInput, input) {
		if err := s.judgeChanged(ctx, a.UpdatedInput, q); err != nil {
			return permission.Verdict{}, err
		}
		input = a.UpdatedInput
	}
	if err := s.applyUpdates(a.UpdatedPermissions); err != nil {
		return permission.Verdict{}, err
	}
	return permission.Verdict{Allow: true, Input: input, Permissions: a.UpdatedPermissions, Source: source}, nil
}

// judgeChanged judges an input that the approver changed: a deny is final.
func (s *Session) judgeChanged(ctx context.Context, input json.RawMessage, q permission.Question) error {
	switch {
	case !json.Valid(input) || !isObject(input):
		return Errorf(InvalidArgument, "updatedInput: want a JSON object, the whole input of the tool")
	case control.Check(input) != nil || !bytes.Equal(control.Sanitize(input), input):
		return Errorf(InvalidArgument, "updatedInput holds a key twice, a text that is no Unicode, or more than %d levels; send one plain object", control.MaxDepth)
	case holdsMark(input):
		return Errorf(InvalidArgument, "updatedInput holds a redaction placeholder, so it is not what would run; leave updatedInput out to run the original, or write the value yourself")
	}
	r := q.Request
	r.Input, r.Door = input, permission.DoorAnswer
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
}

// applyUpdates checks updates that policy has granted once more for what no
// policy may grant, and follows a change of mode.
func (s *Session) applyUpdates(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var list []permissionUpdate
	if err := json.Unmarshal(raw, &list); err != nil {
		return Errorf(InvalidArgument, "updatedPermissions: want an array of updates: %w", errors.Unwrap(err))
	}
	for _, u := range list {
		switch {
		case u.Destination != "session":
			return Errorf(PermissionDenied, "updatedPermissions refused by rule engine.destination: destination %q would write a settings file; only \"session\" may pass", clip(u.Destination))
		case u.Type == "setMode" && u.Mode != "default" && u.Mode != "plan" && u.Mode != "acceptEdits":
			return Errorf(PermissionDenied, "updatedPermissions refused by rule engine.mode: mode %q is looser than policy can follow", clip(u.Mode))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range list {
		if u.Type == "setMode" {
			s.mode = u.Mode
		}
	}
	return nil
}
