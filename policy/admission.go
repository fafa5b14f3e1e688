package policy

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// admissionInput is the document admission/v1; every field is always there.
type admissionInput struct {
	Schema          string            `json:"schema"`
	Profile         string            `json:"profile"`
	Action          string            `json:"action"`
	SessionID       string            `json:"session_id"`
	Grants          []string          `json:"grants"`
	Parameters      map[string]any    `json:"parameters"`
	Names           []string          `json:"names"` // of the parameters, env variables left out
	Env             []string          `json:"env"`   // names of the variables asked for, letters raised
	Cwd             string            `json:"cwd"`
	CwdInsideRoots  bool              `json:"cwd_inside_roots"`
	Roots           []string          `json:"roots"`
	AdditionalDirs  []dirInput        `json:"additional_dirs"`
	Trusted         bool              `json:"trusted"`
	Mentions        []string          `json:"mentions"`
	Project         admission.Project `json:"project"`
	Approval        approvalInput     `json:"approval"`
	Server          serverInput       `json:"server"`
	Sensitive       bool              `json:"sensitive"`
	RunningSessions int               `json:"running_sessions"`
}

type dirInput struct {
	Path   string `json:"path"`
	Inside bool   `json:"inside"`
}

type approvalInput struct {
	RequestID         string `json:"request_id"`
	Tool              string `json:"tool"`
	Effect            string `json:"effect"`
	InputChanged      bool   `json:"input_changed"`
	PermissionUpdates []any  `json:"permission_updates"`
	Approver          string `json:"approver"`
	Required          string `json:"required"`
}

// serverInput is one MCP server of the owner, as configured: a ${NAME} in it
// stands for itself. Values of variables and headers are never policy input.
type serverInput struct {
	Name      string   `json:"name"`
	Source    string   `json:"source"`    // "user", "local" or "project"
	Transport string   `json:"transport"` // "stdio", "http", "sse", "ws"
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	URL       string   `json:"url"`
	Env       []string `json:"env"`     // names of the variables, letters raised, sorted
	Headers   []string `json:"headers"` // names, letters lowered, sorted
}

// Admit judges a request to start, continue, answer or end something. It
// never returns an error; anything but Allow refuses.
func (s *Set) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	return s.guarded(ctx, func(ctx context.Context) permission.Decision { return s.admit(ctx, r) }), nil
}

func (s *Set) admit(ctx context.Context, r admission.Request) permission.Decision {
	doc, err := s.describeAdmission(r)
	if err != nil {
		return s.unreadable(err)
	}
	input, err := ast.InterfaceToValue(doc)
	if err != nil {
		return s.refuse("engine.input", "the request cannot be handed to the policies: "+err.Error())
	}
	var all []verdict
	for _, l := range s.layers {
		if l.admission == nil {
			continue
		}
		verdicts, failure := s.ask(ctx, l, l.admission, input)
		if failure != nil {
			return *failure
		}
		all = append(all, verdicts...)
	}
	d := compose(all)
	d.Revision = s.revision
	switch d.Effect {
	case permission.Abstain:
		d.Effect, d.Rule, d.By = permission.Deny, "engine.default", "engine"
		d.Reason = "no policy admits this request"
	case permission.Ask, permission.Modify:
		return s.refuse("engine.decode", "rule "+d.Rule+": an admission is allowed or denied, it cannot "+d.Effect.String())
	}
	return d
}

func (s *Set) describeAdmission(r admission.Request) (admissionInput, error) {
	in := admissionInput{
		Schema: "admission/v1", Profile: s.options.Profile, Action: string(r.Action), SessionID: r.SessionID,
		Grants: list(s.options.Grants), Parameters: map[string]any{}, Names: []string{}, Env: []string{},
		Cwd: r.Cwd, CwdInsideRoots: r.CwdInsideRoots, Roots: list(r.Roots), AdditionalDirs: []dirInput{},
		Trusted: r.Trusted, Mentions: list(r.Mentions), RunningSessions: r.RunningSessions, Sensitive: r.Sensitive,
		Server: serverInput(r.Server),
		Project: admission.Project{
			SettingsFiles: list(r.Project.SettingsFiles), McpServers: list(r.Project.McpServers), GitExecKeys: list(r.Project.GitExecKeys),
		},
	}
	in.Server.Args, in.Server.Env, in.Server.Headers = list(r.Server.Args), list(r.Server.Env), list(r.Server.Headers)
	for _, d := range r.AdditionalDirs {
		in.AdditionalDirs = append(in.AdditionalDirs, dirInput(d))
	}
	if err := in.parameters(r.Parameters); err != nil {
		return in, err
	}
	var err error
	in.Approval, err = describeApproval(r.Approval)
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
		RequestID: a.RequestID, Tool: a.Tool, Effect: a.Effect, InputChanged: a.InputChanged,
		PermissionUpdates: []any{}, Approver: a.Approver, Required: a.Required,
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
