package policy

import (
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// admissionInput is the document admission/v1; every field is always there.
type admissionInput struct {
	commonInput
	Action          string            `json:"action" enum:"start,reply,fork,resume,cancel,list,answer,mcp_server,configure"`
	SessionID       string            `json:"session_id" doc:"of the session it is about; empty for start and list"`
	Request         requestInput      `json:"request" doc:"the caller's parameters of start, reply, fork and resume, each in its own form"`
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
	McpServer       serverInput       `json:"mcp_server" doc:"of action mcp_server"`
	Sensitive       bool              `json:"sensitive"`
	RunningSessions int               `json:"running_sessions"`
	Target          targetInput       `json:"target_session" doc:"the session it is about"`
	Load            loadInput         `json:"load"`
	Bypass          bypassInput       `json:"bypass" doc:"whether permissionMode bypassPermissions is enabled (claude_code_configure)"`

	Plugins map[string]pluginOutput `json:"plugins" doc:"what plugins said of a start, fork, resume or reply, by their names; without one that was not heard"`
}

type dirInput struct {
	Path   string `json:"path"`
	Inside bool   `json:"inside"`
}

type approvalInput struct {
	RequestID         string         `json:"request_id"`
	DecisionID        string         `json:"decision_id" doc:"of the decision that asked"`
	Tool              string         `json:"tool"`
	Effect            string         `json:"effect"`
	InputChanged      bool           `json:"input_changed"`
	UpdatedInput      map[string]any `json:"updated_input" doc:"the whole new input; empty when the input stays"`
	PermissionUpdates []any          `json:"permission_updates"`
	Approver          string         `json:"approver"`
	Required          string         `json:"required"`
}

// serverInput is one MCP server, as configured: a ${NAME} in it stands for itself.
// Values of variables and headers are never policy input.
type serverInput struct {
	Name      string   `json:"name"`
	Source    string   `json:"source" doc:"user, local (the user's, for this folder), project (of the repository), gatehouse (of this process), plugin, or caller"`
	Transport string   `json:"transport" doc:"stdio, http, sse, ws, or sdk for one in this process"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	URL       string   `json:"url"`
	Env       []string `json:"env"`     // names of the variables, letters raised, sorted
	Headers   []string `json:"headers"` // names, letters lowered, sorted
}

// requestInput is what a caller asks a session to be. What was not asked for is
// empty; names says what was.
type requestInput struct {
	Cwd             string          `json:"cwd" doc:"absolute, links resolved"`
	Dirs            []facts.Path    `json:"dirs" doc:"further folders"`
	Model           string          `json:"model"`
	FallbackModel   string          `json:"fallback_model"`
	PermissionMode  string          `json:"permission_mode"`
	AllowedTools    []string        `json:"allowed_tools"`
	DisallowedTools []string        `json:"disallowed_tools"`
	Tools           []string        `json:"tools"`
	McpServers      []serverInput   `json:"mcp_servers" doc:"the caller's own; source is caller"`
	Env             []variableInput `json:"env"`
	MaxTurns        int             `json:"max_turns" doc:"0 = not asked for"`
	MaxUSD          float64         `json:"max_usd" doc:"0 = not asked for"`
	TimeoutS        int             `json:"timeout_s" doc:"of a blocking call; 0 = not asked for"`
	SettingSources  []string        `json:"setting_sources"`
	Sandbox         map[string]any  `json:"sandbox" doc:"as asked for"`
	Agents          []string        `json:"agents" doc:"names of agents defined by the caller, sorted"`
	SystemPrompt    textInput       `json:"system_prompt"`
	Prompt          textInput       `json:"prompt"`
	Executable      executableInput `json:"executable"`
	ExtraArgs       []string        `json:"extra_args" doc:"always empty: callers cannot add arguments"`
}

type variableInput struct {
	Name        string `json:"name" doc:"letters raised"`
	Sensitive   bool   `json:"sensitive" doc:"the name tells of a secret"`
	ValueSHA256 string `json:"value_sha256" doc:"hexadecimal"`
}

type textInput struct {
	Kind   string `json:"kind" doc:"none, text, append or preset" enum:"none,text,append,preset"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256" doc:"hexadecimal; empty for none"`
	Text   string `json:"text" doc:"at most its first 64 KiB"`
}

type executableInput struct {
	Abs  string `json:"abs" doc:"as asked for"`
	Real string `json:"real" doc:"links followed; empty when that is impossible"`

	Inside bool `json:"inside" doc:"Abs or Real lies in a root or in a further folder of this request, where sessions write"`
}

type targetInput struct {
	State       string `json:"state"`
	OwnedByPeer bool   `json:"owned_by_peer" doc:"started by the same caller"`
}

type loadInput struct {
	Sessions       int     `json:"sessions" doc:"turns that run or wait now"`
	CallerSessions int     `json:"caller_sessions"`
	USDToday       float64 `json:"usd_today" doc:"spent since midnight UTC by this server"`
	CallerUSDToday float64 `json:"caller_usd_today"`
}

type bypassInput struct {
	Enabled bool  `json:"enabled" doc:"a start may ask for it now"`
	UntilNS int64 `json:"until_ns" doc:"nanoseconds since 1970; 0 unless enabled"`
}

func describeBypass(b admission.Bypass) bypassInput {
	in := bypassInput{Enabled: b.Enabled}
	if b.Enabled {
		in.UntilNS = b.Until.UnixNano()
	}
	return in
}
