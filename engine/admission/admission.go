// Package admission holds what may be started, changed or answered: every
// session start, reply and answer is a [Request] that a [Decider] grants or refuses.
package admission

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Action names what the caller wants to do.
type Action string

// The actions.
const (
	Start  Action = "start"
	Reply  Action = "reply"
	Fork   Action = "fork"
	Cancel Action = "cancel"
	List   Action = "list"
	Answer Action = "answer"
	// Resume continues a session that is no longer kept, from the CLI's transcript.
	Resume Action = "resume"
	// Configure changes the engine itself; Parameters has "action": "enable_bypass",
	// "disable_bypass" or "get_config".
	Configure Action = "configure"
	// McpServer hands one MCP server of the owner's own settings to a session. A
	// refusal leaves the server out; the session starts without it.
	McpServer Action = "mcp_server"
)

// Request is one thing a caller asks for.
type Request struct {
	Action    Action
	SessionID string // empty for Start and List

	// Parameters is the caller's whole request by parameter name ("prompt", "cwd",
	// "mcpServers", "env.CI" …). Only parameters the caller set are present.
	// env is given one key a variable.
	Parameters map[string]json.RawMessage

	Cwd             string   // absolute, links resolved
	CwdInsideRoots  bool     // Cwd lies in a configured root, by path segment
	Roots           []string // absolute, resolved
	AdditionalDirs  []Dir
	Trusted         bool // Cwd lies in a trusted root
	Mentions        []string
	Project         Project
	Approval        Approval // Answer only
	Server          Server   // McpServer only
	Sensitive       bool     // List only: cwd, systemPrompt, agents and further folders are asked for
	RunningSessions int

	Caller  permission.Caller
	Session permission.Session // the session it is about, as its calls are judged; the zero value for Start and List
	Target  Target             // that session as a caller sees it; the zero value for Start and List
	Load    Load
	Bypass  Bypass

	// Annotations are what plugins said of the request; the engine sets them.
	Annotations []permission.Annotation
}

// Target is the session a request is about.
type Target struct {
	State       string
	OwnedByPeer bool // started by the same caller
}

// Load is what runs now and was spent today (UTC) by this server.
type Load struct {
	Sessions       int
	CallerSessions int
	USDToday       float64
	CallerUSDToday float64
}

// Bypass says whether the mode bypassPermissions is enabled, and until when.
type Bypass struct {
	Enabled bool
	Until   time.Time // zero unless Enabled
}

// Server is one MCP server that is not the caller's.
type Server struct {
	Name      string   // as the settings name it
	Source    string   // "user", "local" (the user's, for this folder), "project" (the repository's .mcp.json), "gatehouse" (Options.ToolServers) or "plugin"
	Transport string   // "stdio", "http", "sse", "ws", or "sdk" for one in this process, of which the rest is empty
	Command   string   // of stdio; else the shell command that makes headers, mostly ""
	Args      []string // of stdio
	URL       string   // of the others
	Env       []string // of stdio: names of the variables, letters raised, sorted; never values
	Headers   []string // of the others: names, letters lowered, sorted; never values
}

// Dir is a further folder the caller asked for.
type Dir struct {
	Path   string // absolute, links resolved
	Inside bool   // in a configured root
}

// Project is what a look at the folder's own files showed.
type Project struct {
	SettingsFiles []string `json:"settings_files"` // relative to Cwd
	McpServers    []string `json:"mcp_servers"`    // names in .mcp.json
	GitExecKeys   []string `json:"git_exec_keys"`  // keys of .git/config that start programs
}

// Approval is an answer to a pending question.
type Approval struct {
	RequestID         string
	DecisionID        string // of the decision that asked, see [permission.Decision]
	Tool              string
	Effect            string // "allow" or "deny"
	InputChanged      bool
	UpdatedInput      json.RawMessage // nil when the input stays
	PermissionUpdates json.RawMessage // nil when none
	Approver          string          // "caller" or "human"
	Required          string          // approver the question demands, "" = any
}

// Decider grants or refuses. Anything but Allow refuses; an error refuses.
type Decider interface {
	Admit(ctx context.Context, r Request) (permission.Decision, error)
}

// Annotator is [permission.Annotator] for requests. An Ask of its is a refusal:
// nobody is asked about a start.
type Annotator interface {
	AnnotateAdmission(ctx context.Context, r Request) []permission.Annotation
}
