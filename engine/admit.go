package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// admit asks every admission decider; anything but an allow of all refuses. s is
// the session it is about, nil for a list.
func (e *Engine) admit(ctx context.Context, s *Session, r admission.Request) error {
	d, err := e.judgeRecorded(ctx, s, r)
	_, unwritten := errors.AsType[*unrecorded](err)
	switch {
	case unwritten:
		return refusal(string(r.Action), err)
	case err != nil:
		return Errorf(PermissionDenied, "%s refused by rule %s: %s: %w", r.Action, d.Rule, d.Reason, err)
	case d.Effect != permission.Allow && s != nil:
		return Errorf(PermissionDenied, "%s refused by rule %s: %s", r.Action, d.Rule, s.reasonText(d))
	case d.Effect != permission.Allow:
		return Errorf(PermissionDenied, "%s refused by rule %s: %s", r.Action, d.Rule, d.Reason)
	}
	return nil
}

// judgeRecorded is judgeAdmission, with the decision written down. With an
// *unrecorded the decision is an allow that must not take effect.
func (e *Engine) judgeRecorded(ctx context.Context, s *Session, r admission.Request) (permission.Decision, error) {
	began := time.Now()
	d, err := e.judgeAdmission(ctx, r)
	if unwritten := e.recordAdmission(ctx, s, r, d, time.Since(began)); unwritten != nil {
		return deniedBy(d, ruleAudit, unwritten.Error()), unwritten
	}
	return d, err
}

// judgeAdmission hears the plugins and asks the deciders. It returns the first
// decision that does not allow, or the last one, composed with what binds of the
// plugins. With an error the decision is a deny.
func (e *Engine) judgeAdmission(ctx context.Context, r admission.Request) (permission.Decision, error) {
	r.Caller = callerOf(ctx)
	r.Load = e.load(r.Caller)
	r.RunningSessions = r.Load.Sessions
	r.Bypass = admission.Bypass(e.bypassed())
	said, err := e.annotateAdmission(ctx, r)
	switch {
	case errors.Is(err, errGivenUp):
		d := permission.Decision{Effect: permission.Deny, Rule: "engine.cancelled", Reason: "plugins were not heard to their end", By: "engine"}
		return boundAdmission(r.Action, d, said), err
	case err != nil:
		d := permission.Decision{Effect: permission.Deny, Rule: "engine.panic", Reason: "what hears the plugins panicked", By: "engine"}
		return boundAdmission(r.Action, d, said), err
	}
	r.Annotations = said
	d, err := e.askAdmission(ctx, r)
	d, err = e.aboutBypass(r, d, err)
	return boundAdmission(r.Action, d, said), err
}

// askAdmission asks the deciders.
func (e *Engine) askAdmission(ctx context.Context, r admission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Deny, Rule: "engine.no_policy", Reason: "no admission policy is loaded"}
	for _, decider := range e.o.Admission {
		var err error
		if d, err = admitOne(ctx, decider, r); err != nil {
			return permission.Decision{Effect: permission.Deny, Rule: "engine.error", Reason: "the admission policy ended with an error"}, err
		}
		if d.Effect != permission.Allow {
			break
		}
	}
	return d, nil
}

func admitOne(ctx context.Context, d admission.Decider, r admission.Request) (out permission.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return d.Admit(ctx, r)
}
