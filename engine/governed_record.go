package engine

import (
	"context"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// permittedCall writes the allow of a call down before it runs. There is no event of
// it: the gate's has told of the call.
func (s *Session) permittedCall(ctx context.Context, r permission.Request, d permission.Decision) (permit, error) {
	if err := s.stored(ctx, false); err != nil {
		return permit{}, unkept(err)
	}
	if s.engine.auditor == nil {
		return permit{written: true}, nil
	}
	rec := inprocRecord(r, d, permission.PhaseCall, permission.InprocResult{})
	if err := s.recorded(ctx, s.decisionRecord(&rec)); err != nil {
		return permit{}, err
	}
	return permit{written: true}, nil
}

// noteResult tells the audit log that a result was let through; nobody waits for it.
func (s *Session) noteResult(r permission.Request, d permission.Decision, result permission.InprocResult) {
	if s.engine.auditor == nil {
		return
	}
	rec := inprocRecord(r, d, permission.PhaseResult, result)
	s.engine.auditor.note(s.decisionRecord(&rec))
}

// noteWithdrawn tells it that a call which it may hold as allowed did not run.
func (s *Session) noteWithdrawn(r permission.Request) {
	if s.engine.auditor == nil {
		return
	}
	d := inprocDeny("engine.cancelled", "the CLI withdrew the call before it ran")
	rec := record(r, d, "deny", "policy", "")
	rec.about.phase = permission.PhaseCall
	s.engine.auditor.note(s.decisionRecord(&rec))
}

func inprocRecord(r permission.Request, d permission.Decision, phase string, result permission.InprocResult) permissionRecord {
	rec := record(r, d, "allow", "policy", "")
	rec.about.phase, rec.about.result = phase, result
	return rec
}
