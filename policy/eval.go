package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
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

// guarded runs work under the deadline; see [watch].
func (s *Set) guarded(ctx context.Context, work func(context.Context) permission.Decision) permission.Decision {
	if n := s.guard.stuck.Load(); n >= maxStuck {
		return s.refuse("engine.stuck", fmt.Sprintf("%d policy evaluations ignore their deadline; restart the server and look at the policies", n))
	}
	if err := s.turns.take(ctx); err != nil {
		if ctx.Err() != nil {
			return s.overdue(ctx)
		}
		return s.refuse("engine.busy", "the policies are busy: "+err.Error())
	}
	defer s.turns.give()
	d, late := watch(ctx, &s.guard, s.options.Deadline, watchdogGrace, func(ctx context.Context) permission.Decision {
		return s.safely(ctx, work)
	})
	if late {
		s.options.Logger.Warn("policy evaluation ignores its deadline", "stuck", s.guard.stuck.Load(), "limit", maxStuck)
		return s.timedOut()
	}
	return d
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
		Effect: permission.Deny, Rule: rule, Reason: reason, By: "engine", Severity: "high",
		Rules: []string{"deny:" + rule}, Revision: s.revision, Revisions: s.byLayer,
	}
}

// judge asks the layers in order. After a halt of the organisation nobody else
// is asked; a project's policies are asked only where nothing refuses yet.
func (s *Set) judge(ctx context.Context, e Entrypoint, input ast.Value, p *project, t *trace) ([]verdict, *permission.Decision) {
	if len(s.layers) == 0 {
		d := s.refuse("engine.no_policy", "no policy is loaded, so nothing may run")
		return nil, &d
	}
	t.saw(input)
	all := make([]verdict, 0, 4)
	for _, l := range s.layers {
		before := len(all)
		var failure *permission.Decision
		if all, failure = s.layer(ctx, l, e, input, t, all); failure != nil {
			return nil, failure
		}
		if l.name == "org" && strictest(all[before:]) == permission.Halt {
			return all, nil
		}
	}
	if p == nil || strictest(all) >= permission.Deny {
		return all, nil
	}
	verdicts, failure := s.askProject(ctx, p, e, input, t)
	return append(all, verdicts...), failure
}

// layer asks one layer, which says nothing where it has no rules, and appends
// what it says to all.
func (s *Set) layer(ctx context.Context, l *layer, e Entrypoint, input ast.Value, t *trace, all []verdict) ([]verdict, *permission.Decision) {
	q := l.queries[e]
	if q == nil {
		return all, nil
	}
	began := time.Now()
	said, failure := s.ask(ctx, l, q, input, all)
	if t != nil {
		t.add(l, slices.Clone(said[min(len(all), len(said)):]), time.Since(began), failure)
	}
	return said, failure
}

// strictest is the strictest effect that counts.
func strictest(verdicts []verdict) permission.Effect {
	most := permission.Abstain
	for i := range verdicts {
		if verdicts[i].ignored == "" {
			most = max(most, verdicts[i].Effect)
		}
	}
	return most
}

// maxPatterns bounds the compiled patterns that are kept for all evaluations.
var maxPatterns = 4096

// patterns keeps compiled regular expressions and globs between evaluations:
// without it the engine keeps a hundred and compiles the others every time.
var patterns = cache.NewInterQueryValueCache(context.Background(), &cache.Config{
	InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: &maxPatterns},
})

// ask evaluates one prepared query, decodes its decisions strictly and appends
// them to all.
func (s *Set) ask(ctx context.Context, l *layer, q *query, input ast.Value, all []verdict) ([]verdict, *permission.Decision) {
	set, err := q.set(ctx, input)
	if over := overBounds(err); over != nil {
		d := s.refuse("engine.decode", fmt.Sprintf("decisions of the %s policies: %v", l.name, over))
		return nil, &d
	}
	if err != nil {
		d := s.failed(ctx, l, err)
		return nil, &d
	}
	if set == nil {
		d := s.refuse("engine.undefined", fmt.Sprintf("the %s policies gave no set of decisions", l.name))
		return nil, &d
	}
	all, err = appendDecoded(all, l.name, set)
	if err != nil {
		d := s.refuse("engine.decode", err.Error())
		return nil, &d
	}
	return all, nil
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
