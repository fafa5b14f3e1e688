package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// askProject evaluates a project's policies under a deadline of their own. Once
// one of them ignores it, everything in that folder is denied, and nothing else.
func (s *Set) askProject(ctx context.Context, p *project, e Entrypoint, input ast.Value, t *trace) ([]verdict, *permission.Decision) {
	if !p.decides(e) {
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
			a.verdicts, a.failure = s.askFolders(ctx, p, e, input, t)
			return permission.Decision{}
		})
		if refusal.Effect != permission.Abstain {
			a = answer{nil, &refusal}
			t.add(p.nearest(), nil, time.Since(began), &refusal)
		}
		return a
	})
	if late {
		d := s.timedOut()
		t.add(p.nearest(), nil, time.Since(began), &d)
		return nil, &d
	}
	return a.verdicts, a.failure
}

// askFolders asks folder by folder, the outermost first, until one refuses.
func (s *Set) askFolders(ctx context.Context, p *project, e Entrypoint, input ast.Value, t *trace) (all []verdict, failure *permission.Decision) {
	for _, l := range p.layers {
		q := l.queries[e]
		if q == nil {
			continue
		}
		began := time.Now()
		verdicts, failure := s.ask(ctx, l, q, input, nil)
		tighten(verdicts, e)
		t.add(l, verdicts, time.Since(began), failure)
		if failure != nil {
			return nil, failure
		}
		if all = append(all, verdicts...); strictest(all) >= permission.Deny {
			break
		}
	}
	return all, nil
}

// decides reports whether any folder's policies have a say there.
func (p *project) decides(e Entrypoint) bool {
	return slices.ContainsFunc(p.layers, func(l *layer) bool { return l.queries[e] != nil })
}

func (p *project) nearest() *layer { return p.layers[len(p.layers)-1] }

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
