package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Inproc judges a call of a tool in this process, or its result. Anything but
// Allow refuses: nobody can be asked there and nothing changed, and what no
// policy allows is denied.
func (s *Set) Inproc(ctx context.Context, r permission.InprocRequest) permission.Decision {
	rec := s.recordInproc(r)
	p, err := s.projectOf(ctx, r.Call.SessionID, r.Call.Session)
	if err != nil {
		return rec.done(s.refuse(projectRule, err.Error()))
	}
	return rec.done(s.guarded(ctx, func(ctx context.Context) permission.Decision { return s.inproc(ctx, r, p, rec.begin()) }))
}

func (s *Set) inproc(ctx context.Context, r permission.InprocRequest, p *project, t *trace) permission.Decision {
	if d := s.checkToolName(r.Call.Tool); d != nil {
		return *d
	}
	if r.Phase != permission.PhaseCall && r.Phase != permission.PhaseResult {
		return s.refuse("engine.input", fmt.Sprintf("phase %.20q: want call or result", r.Phase))
	}
	if !strings.HasPrefix(r.Call.Tool, "mcp__"+r.Server+"__") || r.Server == "" {
		return s.refuse("engine.input", fmt.Sprintf("tool %.80q is none of the server %.64q", r.Call.Tool, r.Server))
	}
	input, err := decodeInput(r.Call.Input)
	if err != nil {
		return s.unreadable(err)
	}
	doc := s.describeInproc(r, input)
	doc.Server.Revision.Project = p.revision()
	return s.inprocDocument(ctx, doc, p, t)
}

func (s *Set) inprocDocument(ctx context.Context, doc inprocInput, p *project, t *trace) permission.Decision {
	verdicts, failure := s.judge(ctx, EntryInproc, s.inprocTerm(doc, p, t), p, t)
	if failure != nil {
		return s.signed(*failure, doc.DecisionID, p)
	}
	return s.signed(s.plainly(compose(verdicts), "no policy allows this call of a tool in the server"), doc.DecisionID, p)
}

// InprocDocument returns the document Inproc would judge.
func (s *Set) InprocDocument(r permission.InprocRequest) (json.RawMessage, error) {
	input, err := decodeInput(r.Call.Input)
	if err != nil {
		return nil, err
	}
	return written(s.describeInproc(r, input))
}

func (s *Set) describeInproc(r permission.InprocRequest, input map[string]any) inprocInput {
	tool := describeTool(r.Call, input)
	tool.Kind, tool.Server = "sdk", r.Server
	return inprocInput{
		commonInput: s.describeCommon("inproc/v1", r.Call), Phase: r.Phase, Tool: tool,
		Result:     resultInput{IsError: r.Result.IsError, Bytes: r.Result.Bytes, Blocks: list(r.Result.Blocks), JSONShape: r.Result.JSONShape},
		DurationMS: int(r.Duration / time.Millisecond),
		PermissionDecision: permittedInput{
			Effect: r.Passed.Effect.String(), Rule: r.Passed.Rule, Approver: r.Approver,
		},
	}
}
