// Package admission holds what may be started, changed or answered: every
// session start, reply and answer is a [Request] that a [Decider] grants or refuses.
package admission

import (
	"context"
	"encoding/json"

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
	RunningSessions int
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
	Tool              string
	Effect            string // "allow" or "deny"
	InputChanged      bool
	PermissionUpdates json.RawMessage // nil when none
	Approver          string          // "caller" or "human"
	Required          string          // approver the question demands, "" = any
}

// Decider grants or refuses. Anything but Allow refuses; an error refuses.
type Decider interface {
	Admit(ctx context.Context, r Request) (permission.Decision, error)
}
