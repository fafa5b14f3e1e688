package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// The phases of a call of a tool in this process.
const (
	PhaseCall   = "call"   // before it runs
	PhaseResult = "result" // before its result goes to the session
)

// InprocRequest is a call of a tool that lives in this server's process, or its
// result, to judge beside the gate.
type InprocRequest struct {
	Call     permission.Request  // the tool with its full name, its input, the session
	Server   string              // the in-process server that has the tool
	Phase    string              // [PhaseCall] or [PhaseResult]
	Result   InprocResult        // zero in phase call
	Duration time.Duration       // of the call; 0 in phase call
	Passed   permission.Decision // how the call passed the gate; the zero value says it passed none
	Approver string              // who answered, where somebody was asked
}

// InprocResult describes a result; its content is not shown to policies.
type InprocResult struct {
	IsError   bool
	Bytes     int
	Blocks    []string // kinds of the content blocks
	JSONShape string   // kind of the structured content; empty without one
}

// Inproc judges a call of a tool in this process, or its result. Anything but
// Allow refuses: nobody can be asked there and nothing changed, and what no
// policy allows is denied.
func (s *Set) Inproc(ctx context.Context, r InprocRequest) permission.Decision {
	rec := s.recording(EntryInproc, r.Call.Caller, len(r.Call.Input))
	p, err := s.projectOf(ctx, r.Call.SessionID, r.Call.Session)
	if err != nil {
		return rec.done(s.refuse(projectRule, err.Error()))
	}
	return rec.done(s.guarded(ctx, func(ctx context.Context) permission.Decision { return s.inproc(ctx, r, p, rec.begin()) }))
}

func (s *Set) inproc(ctx context.Context, r InprocRequest, p *project, t *trace) permission.Decision {
	if d := s.checkToolName(r.Call.Tool); d != nil {
		return *d
	}
	if r.Phase != PhaseCall && r.Phase != PhaseResult {
		return s.refuse("engine.input", fmt.Sprintf("phase %.20q: want call or result", r.Phase))
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
	verdicts, failure := s.judge(ctx, EntryInproc, toTerm(doc).Value, p, t)
	if failure != nil {
		return s.signed(*failure, doc.DecisionID, p)
	}
	return s.signed(s.plainly(compose(verdicts), "no policy allows this call of a tool in the server"), doc.DecisionID, p)
}

// InprocDocument returns the document Inproc would judge.
func (s *Set) InprocDocument(r InprocRequest) (json.RawMessage, error) {
	input, err := decodeInput(r.Call.Input)
	if err != nil {
		return nil, err
	}
	return written(s.describeInproc(r, input))
}

func (s *Set) describeInproc(r InprocRequest, input map[string]any) inprocInput {
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
