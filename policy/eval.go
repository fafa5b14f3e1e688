package policy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Limits of one decision.
const (
	defaultDeadline = 100 * time.Millisecond
	// watchdogGrace is what an evaluation gets beyond its deadline to notice it.
	watchdogGrace = 50 * time.Millisecond
	// maxStuck evaluations may ignore their deadline; then everything is denied,
	// because each of them holds a core and memory.
	maxStuck = 8
)

// guarded runs work under the deadline. A built-in function can ignore the
// deadline, so a watchdog answers in its place.
func (s *Set) guarded(ctx context.Context, work func(context.Context) permission.Decision) permission.Decision {
	if n := s.stuck.Load(); n >= maxStuck {
		return s.refuse("engine.stuck", fmt.Sprintf("%d policy evaluations ignore their deadline; restart the server and look at the policies", n))
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Deadline)
	defer cancel()
	done := make(chan permission.Decision, 1)
	var left atomic.Bool // whoever comes second settles the count
	go func() {          // ends when work returns; nobody need receive
		done <- s.safely(ctx, work)
		if left.Swap(true) {
			s.stuck.Add(-1)
		}
	}()
	watchdog := time.NewTimer(s.options.Deadline + watchdogGrace)
	defer watchdog.Stop()
	select {
	case d := <-done:
		return d
	case <-watchdog.C:
	}
	s.stuck.Add(1)
	if left.Swap(true) {
		s.stuck.Add(-1)
		return <-done
	}
	s.options.Logger.Warn("policy evaluation ignores its deadline", "stuck", s.stuck.Load(), "limit", maxStuck)
	return s.timedOut()
}

// safely turns a panic into a deny, and an answer that comes too late as well.
func (s *Set) safely(ctx context.Context, work func(context.Context) permission.Decision) (d permission.Decision) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("policy evaluation panicked", "panic", fmt.Sprint(p))
			d = s.refuse("engine.panic", "the policy evaluation broke down")
		}
	}()
	if d = work(ctx); ctx.Err() != nil && d.Effect < permission.Deny {
		return s.overdue(ctx) // the evaluation may have ended before it noticed
	}
	return d
}

// overdue is the answer to a call whose time is up or that nobody waits for.
func (s *Set) overdue(ctx context.Context) permission.Decision {
	if errors.Is(ctx.Err(), context.Canceled) {
		return s.refuse("engine.cancelled", "the call was given up before the policies had answered")
	}
	return s.timedOut()
}

func (s *Set) timedOut() permission.Decision {
	return s.refuse("engine.timeout", fmt.Sprintf("the policies took longer than %s", s.options.Deadline))
}

func (s *Set) refuse(rule, reason string) permission.Decision {
	return permission.Decision{
		Effect: permission.Deny, Rule: rule, Reason: reason, By: "engine",
		Severity: "high", Rules: []string{"deny:" + rule}, Revision: s.revision,
	}
}

// ask evaluates one prepared query and decodes its decisions strictly.
func (s *Set) ask(ctx context.Context, l *layer, q *rego.PreparedEvalQuery, input ast.Value) ([]verdict, *permission.Decision) {
	results, err := q.Eval(ctx, rego.EvalParsedInput(input))
	if err != nil {
		d := s.failed(ctx, l, err)
		return nil, &d
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		d := s.refuse("engine.undefined", fmt.Sprintf("the %s policies gave no set of decisions", l.name))
		return nil, &d
	}
	verdicts, err := decode(l.name, results[0].Expressions[0].Value)
	if err != nil {
		d := s.refuse("engine.decode", err.Error())
		return nil, &d
	}
	return verdicts, nil
}

func (s *Set) failed(ctx context.Context, l *layer, err error) permission.Decision {
	if ctx.Err() != nil || topdown.IsCancel(err) {
		return s.overdue(ctx)
	}
	d := s.refuse("engine.error", fmt.Sprintf("a rule of the %s policies failed", l.name))
	d.Diagnostics = []string{err.Error()}
	s.options.Logger.Error("policy evaluation", "layer", l.name, "error", err)
	return d
}
