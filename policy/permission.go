package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// maxToolName bounds a tool's name in bytes. It is no count within toolName:
// compiling that took a millisecond of every start.
const maxToolName = 256

// toolName is what a tool may be called; rules compare names exactly, and a
// look-alike letter would pass them by.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]+$`)

// Decide judges one call. It never returns an error and never Abstain: what
// fails is a deny, and where no policy allows, the default effect holds.
// Modify carries the changed input, which the caller has to judge again, with
// what plugins say of that; so does an Ask with a changed input where r has
// annotations.
func (s *Set) Decide(ctx context.Context, r permission.Request) (permission.Decision, error) {
	rec := s.recordCall(r)
	p, err := s.projectOf(ctx, r.SessionID, r.Session)
	if err != nil {
		return rec.done(s.refuse(projectRule, err.Error())), nil
	}
	var known memoEntry
	if p == nil {
		if known = s.recall(&r); known.holds && known.facts == "" {
			return rec.done(known.decision), nil
		}
	}
	return rec.done(s.guarded(ctx, func(ctx context.Context) permission.Decision {
		if known.holds && s.factsOf(r) == known.facts {
			return known.decision
		}
		d := s.decide(ctx, r, p, rec.begin())
		if d.Effect != permission.Ask || d.UpdatedInput == nil || len(r.Annotations) > 0 {
			// What plugins said is about this input: who asked them has them look at the
			// change, and judges it with what they say of that.
			return d
		}
		// A question about a changed input: the change itself is judged first.
		changed := r
		changed.Input = d.UpdatedInput
		return s.rejudged(d, s.decide(ctx, changed, p, rec.begin()), p)
	})), nil
}

// rejudged joins a question about a changed input with what was decided about
// that input, which is the one that runs.
func (s *Set) rejudged(d, again permission.Decision, p *project) permission.Decision {
	out := d.Rejudged(again)
	if out.Effect == permission.Ask && !answerable(out.Ask) {
		out = s.noApprover(out.Rules)
	}
	return s.signed(out, cmp.Or(out.DecisionID, d.DecisionID), p)
}

func (s *Set) decide(ctx context.Context, r permission.Request, p *project, t *trace) permission.Decision {
	if d := s.checkToolName(r.Tool); d != nil {
		return *d
	}
	object, err := decodeInput(r.Input)
	if err != nil {
		return s.unreadable(err)
	}
	doc := s.document(r, object, p)
	d, cache := s.decideDocument(ctx, doc, p, t)
	if p == nil && cache > 0 {
		s.remember(&r, d, cache, fileFacts(&doc))
	}
	return d
}

// document is the whole document of a call.
func (s *Set) document(r permission.Request, input map[string]any, p *project) permissionInput {
	doc := s.describe(r, input)
	doc.Server.Revision.Project = p.revision()
	return doc
}

// decideDocument judges a call by its document, and says how long that holds.
func (s *Set) decideDocument(ctx context.Context, doc permissionInput, p *project, t *trace) (permission.Decision, time.Duration) {
	verdicts, failure := s.judge(ctx, EntryPermission, s.permissionTerm(doc, p, t), p, t)
	if failure != nil {
		return s.signed(*failure, doc.DecisionID, p), 0
	}
	d := s.signed(s.settle(verdicts, doc.Tool), doc.DecisionID, p)
	return d, cacheTime(d, verdicts)
}

// cacheTime is how long a decision may be remembered: the shortest time that a
// rule with its effect gives. Questions and changes are never remembered, nor is
// what the engine said.
func cacheTime(d permission.Decision, verdicts []verdict) (shortest time.Duration) {
	if d.By == "engine" || d.Effect == permission.Ask || d.Effect == permission.Modify {
		return 0
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Effect != d.Effect || v.cache == nil || v.ignored != "" {
			continue
		}
		if span := time.Duration(v.cache.TTLSeconds) * time.Second; shortest == 0 || span < shortest {
			shortest = span
		}
	}
	return shortest
}

// remember keeps a decision whose rules say for how long it holds.
func (s *Set) remember(r *permission.Request, d permission.Decision, span time.Duration, facts string) {
	s.memoOnce.Do(func() {
		s.memo.Store(newDecisionMemo([]inputReads{s.allReads()}))
	})
	s.memo.Load().put(r, d, span, facts)
}

// recall returns what was decided about an equal call, under an id of its own.
func (s *Set) recall(r *permission.Request) memoEntry {
	memo := s.memo.Load()
	if memo == nil {
		return memoEntry{}
	}
	e := memo.get(r)
	if e.holds {
		e.decision.DecisionID = newDecisionID()
	}
	return e
}

// fileFacts joins those facts of a call that come from the file system, which
// may change before the next equal call; empty when none does.
func fileFacts(doc *permissionInput) string {
	plain := len(doc.Paths) == 0 && (doc.PathsKnown || doc.Tool.Name == "Bash" || doc.Tool.Kind != "builtin") &&
		!slices.ContainsFunc(doc.Bash.Commands, func(c facts.Command) bool {
			return c.Git != nil || c.Name.Path != nil || c.Cwd.Value != doc.Cwd
		})
	if plain {
		return ""
	}
	key, ok := partKey(nil, reflect.ValueOf(struct {
		paths           []facts.Path
		shell           facts.Shell
		allowed, denied ruleMatch
	}{doc.Paths, doc.Bash, doc.AllowedByCaller, doc.DisallowedByCaller}))
	if !ok {
		return newDecisionID() // equal to none
	}
	return string(key)
}

// factsOf looks again at what a remembered decision rested on.
func (s *Set) factsOf(r permission.Request) string {
	object, err := decodeInput(r.Input)
	if err != nil {
		return newDecisionID() // equal to none
	}
	doc := s.describe(r, object)
	return fileFacts(&doc)
}

// signed says which decision it was and what made it.
func (s *Set) signed(d permission.Decision, id string, p *project) permission.Decision {
	d.DecisionID, d.Revision, d.Revisions = id, s.revision, s.byLayer
	if p != nil {
		d.Revisions = s.withProject(p)
	}
	return d
}

func (s *Set) checkToolName(name string) *permission.Decision {
	if len(name) <= maxToolName && toolName.MatchString(name) {
		return nil
	}
	d := s.refuse("engine.tool_name", fmt.Sprintf("tool name %.80q has letters no tool has", name))
	return &d
}

func (s *Set) unreadable(err error) permission.Decision {
	var limit *limitError
	if errors.As(err, &limit) {
		return s.refuse(limit.rule, limit.message)
	}
	return s.refuse("engine.input", err.Error())
}
