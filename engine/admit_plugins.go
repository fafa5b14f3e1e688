package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// annotated are the actions that plugins are heard about: those that let a prompt
// reach the model.
var annotated = []admission.Action{admission.Start, admission.Fork, admission.Resume, admission.Reply}

// annotateAdmission hears the plugins. With an error nothing may be admitted.
func (e *Engine) annotateAdmission(ctx context.Context, r admission.Request) (said []permission.Annotation, err error) {
	if !slices.Contains(annotated, r.Action) {
		return nil, nil
	}
	defer func() {
		said = permission.Heard(said)
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	for _, a := range e.o.AdmissionAnnotators {
		said = append(said, a.AnnotateAdmission(ctx, r)...)
		err = givenUp(ctx)
	}
	return said, err
}

// errGivenUp is for a caller that goes away: whether a plugin counts that is cut off
// is not up to callers.
var errGivenUp = errors.New("the request was given up")

func givenUp(ctx context.Context) error {
	if ctx.Err() != nil {
		return errGivenUp
	}
	return nil
}

// boundAdmission composes a decision with what binds of the plugins. Whoever
// refused first stays the one that decided.
func boundAdmission(action admission.Action, d permission.Decision, said []permission.Annotation) permission.Decision {
	rules := slices.Clone(d.Rules)
	for _, a := range said {
		if !a.Binds() {
			continue
		}
		theirs := a.Decision()
		rules = append(rules, theirs.Rules...)
		if d.Effect != permission.Allow {
			continue
		}
		d.Effect, d.Rule, d.Reason, d.By, d.Layer, d.AgentMessage = permission.Deny, theirs.Rule, theirs.Reason, theirs.By, "", ""
		if a.Verdict == permission.Ask {
			d.Reason = fmt.Sprintf("nobody is asked about a %s, and %s", action, theirs.Reason)
		}
	}
	d.Rules, d.Plugins = rules, nil
	for _, a := range said {
		a.Values = nil
		d.Plugins = append(d.Plugins, a)
	}
	return d
}
