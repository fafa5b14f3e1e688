package policy

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Admit judges a request to start, continue, answer or end something. It
// never returns an error; anything but Allow refuses.
func (s *Set) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	rec := s.recordRequest(r)
	p, err := s.projectOfRequest(ctx, r)
	if err != nil {
		return rec.done(s.refuse(projectRule, err.Error())), nil
	}
	d := s.guarded(ctx, func(ctx context.Context) permission.Decision { return s.admit(ctx, r, p, rec.begin()) })
	s.admitted(r, d)
	return rec.done(d), nil
}

func (s *Set) admit(ctx context.Context, r admission.Request, p *project, t *trace) permission.Decision {
	doc, err := s.describeAdmission(r)
	if err != nil {
		return s.unreadable(err)
	}
	doc.Server.Revision.Project = p.revision()
	return s.admitDocument(ctx, doc, p, t)
}

// admitDocument judges a request by its document: what is not allowed is denied.
func (s *Set) admitDocument(ctx context.Context, doc admissionInput, p *project, t *trace) permission.Decision {
	verdicts, failure := s.judge(ctx, EntryAdmission, toTerm(doc).Value, p, t)
	if failure != nil {
		return s.signed(*failure, doc.DecisionID, p)
	}
	return s.signed(s.plainly(compose(verdicts), "no policy admits this request"), doc.DecisionID, p)
}

// plainly is for what is allowed or denied and nothing else.
func (s *Set) plainly(d permission.Decision, otherwise string) permission.Decision {
	switch d.Effect {
	case permission.Abstain:
		d.Effect, d.Rule, d.By = permission.Deny, "engine.default", "engine"
		d.Reason = otherwise
	case permission.Ask, permission.Modify:
		return s.refuse("engine.decode", "rule "+d.Rule+": here something is allowed or denied, it cannot "+d.Effect.String())
	}
	return d
}

func (s *Set) describeAdmission(r admission.Request) (admissionInput, error) {
	in := admissionInput{
		commonInput: s.describeCommon("admission/v1", permission.Request{SessionID: r.SessionID, Caller: r.Caller, Session: r.Session}),
		Action:      string(r.Action), SessionID: r.SessionID,
		Target: targetInput(r.Target), Load: loadInput(r.Load), Bypass: describeBypass(r.Bypass), Plugins: describePlugins(r.Annotations),
		Grants: list(s.options.Grants), Parameters: map[string]any{}, Names: []string{}, Env: []string{},
		Cwd: r.Cwd, CwdInsideRoots: r.CwdInsideRoots, Roots: list(r.Roots), AdditionalDirs: []dirInput{},
		Trusted: r.Trusted, Mentions: list(r.Mentions), RunningSessions: r.RunningSessions, Sensitive: r.Sensitive,
		McpServer: serverInput(r.Server),
		Project: admission.Project{
			SettingsFiles: list(r.Project.SettingsFiles), McpServers: list(r.Project.McpServers), GitExecKeys: list(r.Project.GitExecKeys),
		},
	}
	in.McpServer.Args, in.McpServer.Env, in.McpServer.Headers = list(r.Server.Args), list(r.Server.Env), list(r.Server.Headers)
	for _, d := range r.AdditionalDirs {
		in.AdditionalDirs = append(in.AdditionalDirs, dirInput(d))
	}
	if err := in.parameters(r.Parameters); err != nil {
		return in, err
	}
	var err error
	if in.Approval, err = describeApproval(r.Approval); err != nil {
		return in, err
	}
	in.Request, err = s.describeRequest(in, r)
	return in, err
}

// parameters decodes the caller's values within the limits of one document.
func (in *admissionInput) parameters(all map[string]json.RawMessage) error {
	size := 0
	for name, raw := range all {
		if size += len(raw); size > maxInputBytes {
			return &limitError{"engine.input_too_large", "the request is larger than policies judge"}
		}
		value, err := decodeValue(raw)
		if err != nil {
			return err
		}
		in.Parameters[name] = value
		if variable, ok := strings.CutPrefix(name, "env."); ok {
			in.Env = append(in.Env, strings.ToUpper(variable))
		} else {
			in.Names = append(in.Names, name)
		}
	}
	return nil
}

func describeApproval(a admission.Approval) (approvalInput, error) {
	out := approvalInput{
		RequestID: a.RequestID, DecisionID: a.DecisionID, Tool: a.Tool, Effect: a.Effect, InputChanged: a.InputChanged,
		PermissionUpdates: []any{}, Approver: a.Approver, Required: a.Required,
	}
	if len(a.UpdatedInput) > 0 {
		changed, err := decodeInput(a.UpdatedInput)
		if err != nil {
			return out, err
		}
		out.UpdatedInput = changed
	}
	if len(a.PermissionUpdates) == 0 || string(a.PermissionUpdates) == "null" {
		return out, nil
	}
	value, err := decodeValue(a.PermissionUpdates)
	if err != nil {
		return out, err
	}
	updates, ok := value.([]any)
	if !ok {
		return out, &limitError{"engine.input", "updatedPermissions must be a list"}
	}
	out.PermissionUpdates = updates
	return out, nil
}
