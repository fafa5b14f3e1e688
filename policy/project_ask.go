package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// askProject evaluates a project's policies under a deadline of their own. Once
// one of them ignores it, everything in that folder is denied, and nothing else.
func (s *Set) askProject(ctx context.Context, p *project, e Entrypoint, input ast.Value, t *trace) ([]verdict, *permission.Decision) {
	q := p.layer.queries[e]
	if q == nil {
		return nil, nil
	}
	if p.guard.stuck.Load() > 0 {
		d := s.refuse(projectRule, fmt.Sprintf("the policies in %s ignored their deadline; mend them and start the session again", p.folder))
		return nil, &d
	}
	type answer struct {
		verdicts []verdict
		failure  *permission.Decision
	}
	began := time.Now()
	a, late := watch(ctx, &p.guard, s.options.Deadline/2, watchdogGrace/2, func(ctx context.Context) (a answer) {
		refusal := s.safely(ctx, func(ctx context.Context) permission.Decision {
			a.verdicts, a.failure = s.ask(ctx, p.layer, q, input)
			return permission.Decision{}
		})
		if refusal.Effect != permission.Abstain {
			a = answer{nil, &refusal}
		}
		return a
	})
	if late {
		d := s.timedOut()
		a.failure = &d
	}
	tighten(a.verdicts, e)
	t.add(p.layer, a.verdicts, time.Since(began), a.failure)
	return a.verdicts, a.failure
}

// tighten marks what a project may not say, and takes out what would loosen.
func tighten(verdicts []verdict, e Entrypoint) {
	for i := range verdicts {
		v := &verdicts[i]
		if v.Effect < permission.Ask || v.Effect == permission.Ask && e != EntryPermission {
			v.ignored = onlyTighten
		}
		v.Context, v.cache, v.ops = nil, nil, nil
		// An approval covers this call only, and nobody has longer to answer.
		v.Ask.Scope, v.Ask.TTLSeconds, v.Ask.TimeoutSeconds = "", 0, 0
	}
}

// withProject is the revisions of all layers and a project's.
func (s *Set) withProject(p *project) map[string]string {
	all := make(map[string]string, len(s.byLayer)+1)
	for name, revision := range s.byLayer {
		all[name] = revision
	}
	all["project"] = p.revision()
	return all
}
