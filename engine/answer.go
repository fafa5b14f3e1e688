package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	if a.Digest != "" && a.Digest != digest(q.Request.Input) {
		return Errorf(InvalidArgument, "digest: request %q has an input of another digest; look at the question again", a.RequestID)
	}
	if err := s.admitAnswer(ctx, a, q); err != nil {
		return err
	}
	v, err := s.verdict(ctx, a, q)
	if err != nil {
		s.recordRefusedAnswer(ctx, a, q, v, err)
		return err
	}
	s.touch()
	// Rules count before the CLI hears the answer, and only if this one is it.
	ref := s.refer(q.ID)
	left, err := s.approvals.Answer(q.ID, v, func() { s.follow(v.Permissions) })
	if err != nil {
		return Errorf(PermissionRequestNotFound, "request %q: %w", a.RequestID, err)
	}
	s.noteAnswered(ctx, q, v, ref, left)
	if left > 0 {
		s.counted(q, v.Approver, left)
		return nil
	}
	s.close(q.ID)
	if len(v.Permissions) > 0 {
		_ = s.remember() // logged; the turn's end writes it again
	}
	return nil
}

func (s *Session) admitAnswer(ctx context.Context, a Answer, q permission.Question) error {
	if a.Allow && !s.mayApprove(q.Decision.Ask, a.approver()) {
		err := Errorf(PermissionDenied, "answer refused by rule %s: %w", q.Decision.Rule, notApprover(q.Decision.Ask, a.approver()))
		s.engine.recordRefusal(ctx, s, answerRefused(a, q), err)
		return err
	}
	r := s.admission(ctx, admission.Answer, "", nil)
	r.Approval = admission.Approval{
		RequestID: q.ID, DecisionID: q.Decision.DecisionID, Tool: q.Request.Tool, Effect: effectWord(a.Allow), InputChanged: len(a.UpdatedInput) > 0,
		PermissionUpdates: a.UpdatedPermissions, Approver: a.Approver, Required: q.Decision.Ask.Approver,
	}
	if q.Request.Door != permission.DoorForm { // what was filled into a form is for its server alone
		r.Approval.UpdatedInput = a.UpdatedInput
	}
	return s.engine.admit(ctx, s, r)
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
		return permission.Verdict{Message: message, Interrupt: a.Interrupt, Source: source, Approver: a.approver()}, nil
	}
	if q.Request.Door == permission.DoorForm {
		return s.fill(ctx, a, q, source)
	}
	v := permission.Verdict{
		Allow: true, Input: q.Request.Input, Permissions: a.UpdatedPermissions, Source: source, Approver: a.approver(),
		Folder: s.folders.of(q.Request.AgentID),
	}
	changed := len(a.UpdatedInput) > 0 && !bytes.Equal(a.UpdatedInput, v.Input)
	if changed {
		v.Input = a.UpdatedInput
		if err := usableInput(v.Input); err != nil {
			return v, err
		}
		s.mu.Lock()
		shown := s.actions[q.ID].Input
		s.mu.Unlock()
		if pointer := copiedFrom(shown, q.Request.Input, v.Input); pointer != "" {
			return v, Errorf(InvalidArgument, "updatedInput holds at %s what redaction shows there, so it is not what would run; leave updatedInput out to run the original, or write the value yourself", clip(pointer))
		}
	}
	// The policies may have changed while it waited, and the folder by a call beside it.
	moved := cmp.Or(v.Folder, s.cwd) != cmp.Or(q.Request.Folder, s.cwd)
	if changed || moved || s.engine.chain.Revision() != q.Decision.InForce() {
		d, err := s.judgeAgain(ctx, v, q)
		if v.Judged = &d; err != nil {
			return v, err
		}
	}
	return v, s.checkUpdates(a.UpdatedPermissions)
}

// usableInput refuses a changed input that cannot be what would run.
func usableInput(input json.RawMessage) error {
	if err := plainObject(input); err != nil {
		return Errorf(InvalidArgument, "updatedInput: %w", err)
	}
	if holdsMark(input) {
		return Errorf(InvalidArgument, "updatedInput holds a redaction placeholder, so it is not what would run; leave updatedInput out to run the original, or write the value yourself")
	}
	return nil
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

// judgeAgain judges what an approver changed, or what the policies and the folder
// of now make of the question. A deny is final, and an ask counts as answered only
// where this approver alone could have answered it.
func (s *Session) judgeAgain(ctx context.Context, v permission.Verdict, q permission.Question) (permission.Decision, error) {
	r, input, approver := q.Request, v.Input, v.Approver
	r.Input, r.Door, r.Folder, r.Session = input, permission.DoorAnswer, v.Folder, s.facts()
	d := s.bound(r, s.weigh(ctx, r))
	switch {
	case d.Effect == permission.Allow:
		return d, nil
	case d.Effect != permission.Ask || len(d.UpdatedInput) > 0:
		return d, Errorf(PermissionDenied, "%s refused by rule %s: %s", s.whatChanged(v, q), d.Rule, s.reasonText(d))
	case !s.mayApprove(d.Ask, approver):
		return d, Errorf(PermissionDenied, "%s refused by rule %s: %w", s.whatChanged(v, q), d.Rule, notApprover(d.Ask, approver))
	case d.Ask.Quorum > max(q.Decision.Ask.Quorum, 1):
		return d, Errorf(PermissionDenied, "%s refused by rule %s: it takes %d approvers, and this question only %d", s.whatChanged(v, q), d.Rule, d.Ask.Quorum, max(q.Decision.Ask.Quorum, 1))
	}
	return d, nil
}

func (s *Session) whatChanged(v permission.Verdict, q permission.Question) string {
	switch {
	case q.Request.Door == permission.DoorForm || !bytes.Equal(v.Input, q.Request.Input):
		return "updatedInput"
	case s.engine.chain.Revision() != q.Decision.InForce():
		return "answer, under the policies that are in force now,"
	}
	return "answer, in the folder the call would run in now,"
}

// notApprover says why an approver's allow does not count.
func notApprover(t permission.AskTerms, approver string) error {
	if t.Approver == approverHuman {
		return fmt.Errorf("%w; an answer of a client does not count (gatehouse approve, or the prompt of gatehouse run)", errApprover)
	}
	return fmt.Errorf("it wants an answer by %s, not by %s", wanted(t), approver)
}

// counted tells of an approval that is not the last one needed.
func (s *Session) counted(q permission.Question, approver string, left int) {
	s.mu.Lock()
	if a, open := s.actions[q.ID]; open && !slices.Contains(a.ApprovedBy, approver) {
		a.ApprovedBy = append(slices.Clone(a.ApprovedBy), approver)
		s.actions[q.ID] = a
	}
	s.mu.Unlock()
	s.notice("approval", fmt.Sprintf("%s approved; it takes %d more", approver, left), map[string]any{"requestId": q.ID, "approver": approver, "left": left})
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
		s.setModeLocked(mode)
		s.rules = rules
	}
	return err
}

// follow applies updates of the answer that counts. They were checked; those
// that another answer made impossible in between are left out.
func (s *Session) follow(raw json.RawMessage) {
	err := s.applyUpdates(raw)
	s.tellOrigin() // the mode may be another
	if err != nil {
		s.engine.log.Warn("updated permissions", "session", s.id, "error", s.forLog(err.Error()))
	}
}
