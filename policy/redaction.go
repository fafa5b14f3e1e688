package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
	"github.com/open-policy-agent/opa/v1/ast"
)

// RedactionPlan says what to cover in payloads of the sort of p; p.Data is looked
// at for the sorts of its blocks and nothing else. Plans are remembered by all
// that policies can tell payloads apart by, so that most calls evaluate nothing.
// On an error nothing is known of what to cover, and p has to be withheld.
func (s *Set) RedactionPlan(ctx context.Context, p event.Payload) (*redact.Plan, error) {
	s.planOnce.Do(func() { s.plans = newPlanner(s, RedactorOptions{HashKey: newHashKey()}) })
	plan, _, err := s.plans.plan(ctx, &p)
	return plan, err
}

// PlanEvaluation is what the policies say about a redaction document.
type PlanEvaluation struct {
	Edits  []redact.Edit // of all layers that hold in the document's sink, in the order they are applied
	Layers []PlanLayer   // those that were asked, in that order
}

// PlanLayer is one layer's part.
type PlanLayer struct {
	Name, Revision string
	Edits          []PlanEdit
	Took           time.Duration
	Failure        string // why it gave no plan; empty when it did
}

// PlanEdit is one edit and where it is written.
type PlanEdit struct {
	redact.Edit
	Sinks   []string // it holds in; empty for every one
	File    string   // of the first rule with this id; empty when the id is computed
	Line    int
	Ignored string // why it does not count for the document; empty when it does
}

// EvaluatePlan asks what to cover in payloads that a redaction/v1 document
// describes; what it leaves out has its zero value. A layer that fails is told
// in Layers, and Edits is empty then: such a payload would be withheld. The error
// is about the document only.
func (s *Set) EvaluatePlan(ctx context.Context, document json.RawMessage) (PlanEvaluation, error) {
	read, err := readDocument(EntryRedaction, document)
	if err != nil {
		return PlanEvaluation{}, err
	}
	doc := read.(redactionInput)
	out := PlanEvaluation{Layers: []PlanLayer{}}
	input, failed := toTerm(doc).Value, false
	for _, l := range s.layers {
		if l.queries[EntryRedaction] == nil {
			continue
		}
		began := time.Now()
		edits, err := s.planOf(ctx, l, input)
		told := PlanLayer{Name: l.name, Revision: l.revision, Edits: []PlanEdit{}, Took: time.Since(began)}
		if err != nil {
			told.Failure, failed = err.Error(), true
		}
		for _, e := range edits {
			at := l.where(e.Rule)
			one := PlanEdit{Edit: e.Edit, Sinks: e.sinks, File: at.File, Line: at.Line}
			if !e.in(doc.Sink.Kind) {
				one.Ignored = "it holds in other sinks"
			} else {
				out.Edits = append(out.Edits, e.Edit)
			}
			told.Edits = append(told.Edits, one)
		}
		out.Layers = append(out.Layers, told)
	}
	if failed {
		out.Edits = nil
	}
	return out, nil
}

// redacts reports whether any layer has a say in what is covered.
func (s *Set) redacts() bool {
	for _, l := range s.layers {
		if l.queries[EntryRedaction] != nil {
			return true
		}
	}
	return false
}

// edits asks every layer; what they say unites.
func (s *Set) edits(ctx context.Context, doc redactionInput) ([]redact.Edit, error) {
	input := toTerm(doc).Value
	var all []redact.Edit
	for _, l := range s.layers {
		if l.queries[EntryRedaction] == nil {
			continue
		}
		edits, err := s.planOf(ctx, l, input)
		if err != nil {
			return nil, err
		}
		for _, e := range edits {
			if e.in(doc.Sink.Kind) {
				all = append(all, e.Edit)
			}
		}
	}
	return all, nil
}

// planOf evaluates one layer under the deadline. It does not end with ctx: a
// payload that is stored while a session ends is covered as any other.
func (s *Set) planOf(ctx context.Context, l *layer, input ast.Value) ([]planEdit, error) {
	if n := s.planGuard.stuck.Load(); n >= maxStuck {
		return nil, fmt.Errorf("plan of the %s policies: %w; restart the server and look at the policies", l.name, fmt.Errorf("%d %w", n, errPlansStuck))
	}
	type answer struct {
		edits []planEdit
		err   error
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.turns.take(ctx); err != nil {
		return nil, fmt.Errorf("plan of the %s policies: %w", l.name, err)
	}
	defer s.turns.give()
	a, late := watch(ctx, &s.planGuard, s.options.Deadline, watchdogGrace, func(ctx context.Context) (a answer) {
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("plan of the %s policies: panic: %v", l.name, p)}
			}
		}()
		a.edits, a.err = s.evaluatePlan(ctx, l, input)
		if ctx.Err() != nil {
			a = answer{err: s.planLate(l)}
		}
		return a
	})
	if late {
		return nil, s.planLate(l)
	}
	return a.edits, a.err
}

// Errors that need not come again: an evaluation that took too long, and one that
// was not begun because others ignore their deadline.
var (
	errPlanLate   = errors.New("took too long")
	errPlansStuck = errors.New("evaluations ignore their deadline")
)

func (s *Set) planLate(l *layer) error {
	return fmt.Errorf("plan of the %s policies: %w (more than %s)", l.name, errPlanLate, s.options.Deadline)
}

func (s *Set) evaluatePlan(ctx context.Context, l *layer, input ast.Value) ([]planEdit, error) {
	s.planEvaluations.Add(1)
	value, err := l.queries[EntryRedaction].set(ctx, input)
	if err != nil {
		return nil, fmt.Errorf("plan of the %s policies: %w", l.name, err)
	}
	if value == nil {
		return nil, fmt.Errorf("plan of the %s policies: undefined", l.name)
	}
	return decodeEdits(l.name, value)
}
