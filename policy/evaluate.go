package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// Entrypoint names what is decided; each has a package, a document and a schema.
type Entrypoint string

// The entry points.
const (
	EntryPermission Entrypoint = "permission" // a tool call
	EntryAdmission  Entrypoint = "admission"  // a request to start, continue, answer or end something
	EntryInproc     Entrypoint = "inproc"     // a call of a tool in this process, or its result
	EntryRedaction  Entrypoint = "redaction"  // what to cover in a payload; see [Set.EvaluatePlan]
)

// Evaluation is what the policies say about a document, layer by layer.
type Evaluation struct {
	Decision permission.Decision
	Layers   []LayerEvaluation // those that were asked, in that order
}

// LayerEvaluation is one layer's part.
type LayerEvaluation struct {
	Name, Revision string
	Verdicts       []Verdict // sorted as decided: strictest first
	Took           time.Duration
	Failure        string // why it gave no verdicts; empty when it did
}

// Verdict is one rule's decision and where it is written.
type Verdict struct {
	Effect, Rule, Reason, AgentMessage, Severity, Layer string

	File    string // of the first rule with this id; empty when the id is computed
	Line    int
	Ignored string // why it does not count; empty when it does
}

// Evaluate judges a document as it is, without computing facts: a field that is
// missing has its zero value, so documents written by hand may be partial. A
// changed input is not judged again. The error is about the document only: no
// JSON object, an unknown field (with the nearest one) or a wrong type.
func (s *Set) Evaluate(ctx context.Context, e Entrypoint, document json.RawMessage) (Evaluation, error) {
	doc, err := readDocument(e, document)
	if err != nil {
		return Evaluation{}, err
	}
	if e == EntryRedaction {
		return Evaluation{}, errors.New("redaction document: it is answered by a plan, not by a decision")
	}
	t := &trace{}
	d := s.guarded(ctx, func(ctx context.Context) permission.Decision {
		switch doc := doc.(type) {
		case permissionInput:
			d, _ := s.decideDocument(ctx, doc, s.remembered(doc.Server.Revision.Project), t)
			return d
		case admissionInput:
			return s.admitDocument(ctx, doc, s.remembered(doc.Server.Revision.Project), t)
		case inprocInput:
			return s.inprocDocument(ctx, doc, s.remembered(doc.Server.Revision.Project), t)
		}
		return s.refuse("engine.error", fmt.Sprintf("no entry point for %T", doc))
	})
	all := t.taken(s)
	if project := projectIn(doc); project != "" && s.remembered(project) == nil {
		all = append(all, LayerEvaluation{Name: "project", Revision: project, Verdicts: []Verdict{}, Failure: "not asked: the project's policies of this revision are not loaded here"})
	}
	return Evaluation{Decision: d, Layers: all}, nil
}

// projectIn is the digest of the project's policies that a document tells of.
func projectIn(doc any) string {
	switch doc := doc.(type) {
	case permissionInput:
		return doc.Server.Revision.Project
	case admissionInput:
		return doc.Server.Revision.Project
	case inprocInput:
		return doc.Server.Revision.Project
	}
	return ""
}

// Document returns the document Decide would judge, facts included.
func (s *Set) Document(r permission.Request) (json.RawMessage, error) {
	object, err := decodeInput(r.Input)
	if err != nil {
		return nil, err
	}
	p, err := s.projectOf(context.Background(), r.SessionID, r.Session)
	if err != nil {
		return nil, err
	}
	return written(s.document(r, object, p))
}

// AdmissionDocument returns the document Admit would judge.
func (s *Set) AdmissionDocument(r admission.Request) (json.RawMessage, error) {
	doc, err := s.describeAdmission(r)
	if err != nil {
		return nil, err
	}
	return written(doc)
}

// trace collects what layers said. The nil trace collects nothing.
type trace struct {
	mu     sync.Mutex // an evaluation that ignores its deadline may still write
	input  ast.Value  // the document; nil before there was one
	layers []traced
}

type traced struct {
	layer    *layer
	verdicts []verdict
	took     time.Duration
	failure  *permission.Decision
}

func (t *trace) add(l *layer, verdicts []verdict, took time.Duration, failure *permission.Decision) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.layers = append(t.layers, traced{l, verdicts, took, failure})
}

// taken returns what was collected so far.
func (t *trace) taken(s *Set) []LayerEvaluation {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]LayerEvaluation, 0, len(t.layers))
	for _, one := range t.layers {
		l := LayerEvaluation{Name: one.layer.name, Revision: one.layer.revision, Took: one.took, Verdicts: []Verdict{}}
		if one.failure != nil {
			l.Failure = one.failure.Rule + ": " + one.failure.Reason
			for _, more := range one.failure.Diagnostics {
				l.Failure += ": " + more
			}
		}
		for _, v := range slices.SortedStableFunc(slices.Values(one.verdicts), byStrictness) {
			l.Verdicts = append(l.Verdicts, v.told(one.layer))
		}
		all = append(all, l)
	}
	return all
}

func (v verdict) told(l *layer) Verdict {
	at := l.where(v.Rule)
	return Verdict{
		Effect: v.word, Rule: v.Rule, Reason: v.Reason, AgentMessage: v.AgentMessage,
		Severity: v.Severity, Layer: v.Layer, File: at.File, Line: at.Line, Ignored: v.ignored,
	}
}
