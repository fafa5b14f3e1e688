package engine

import (
	"encoding/json"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"time"
)

// StartParams asks for a session. The zero value of every field but Prompt
// means "the default". The JSON names are the parameters of clients; what a
// resume token signs has this form too.
type StartParams struct {
	Prompt          string    `json:"-"`                         // required, not blank
	Cwd             string    `json:"cwd,omitempty"`             // empty: the engine's first root
	AllowedTools    []string  `json:"allowedTools,omitempty"`    // policy input, never handed to the CLI
	DisallowedTools []string  `json:"disallowedTools,omitempty"` // policy input, and hidden from the model
	Tools           *[]string `json:"tools,omitempty"`           // nil = the CLI's default set; empty = none

	PersistSession     *bool         `json:"persistSession,omitempty"` // nil = true
	SessionInitTimeout time.Duration `json:"-"`                        // sessionInitTimeoutMs; 0 = 10 s
	PermissionTimeout  time.Duration `json:"-"`                        // permissionRequestTimeoutMs; 0 = Options.ApprovalTimeout
	TurnTimeout        time.Duration `json:"-"`                        // of the first turn, from its slot on; 0 = none but Options.TurnTimeout

	// PermissionMode is default (also empty), acceptEdits, plan, dontAsk, delegate or
	// bypassPermissions. It is policy input; of the CLI it changes nothing but plan mode.
	PermissionMode string `json:"permissionMode,omitempty"`

	NoHooks   bool `json:"noHooks,omitempty"`   // policy input: hooks of others never run here anyway
	NoTickets bool `json:"noTickets,omitempty"` // policy input, and CLAUDE_MPM_NO_TICKETS=1 for the CLI

	MaxTurns        int             `json:"maxTurns,omitempty"`     // 0 = no limit
	MaxBudgetUSD    float64         `json:"maxBudgetUsd,omitempty"` // 0 = no limit
	Model           string          `json:"model,omitempty"`
	FallbackModel   string          `json:"fallbackModel,omitempty"`
	SystemPrompt    *string         `json:"systemPrompt,omitempty"`       // replaces the CLI's
	AppendPrompt    string          `json:"appendSystemPrompt,omitempty"` // systemPrompt preset's append
	Agents          json.RawMessage `json:"agents,omitempty"`             // object by name
	Agent           string          `json:"agent,omitempty"`
	Effort          string          `json:"effort,omitempty"` // low, medium, high, max
	Betas           []string        `json:"betas,omitempty"`
	AdditionalDirs  []string        `json:"additionalDirectories,omitempty"`
	OutputSchema    json.RawMessage `json:"outputSchema,omitempty"`   // outputFormat.schema
	Thinking        string          `json:"thinking,omitempty"`       // "adaptive", "enabled", "disabled", ""
	ThinkingBudget  int             `json:"thinkingBudget,omitempty"` // tokens, with "enabled"
	Executable      string          `json:"pathToClaudeCodeExecutable,omitempty"`
	McpServers      json.RawMessage `json:"mcpServers,omitempty"` // object by name
	Sandbox         json.RawMessage `json:"sandbox,omitempty"`
	FileCheckpoints bool            `json:"enableFileCheckpointing,omitempty"`
	PartialMessages bool            `json:"includePartialMessages,omitempty"`
	StrictMcpConfig bool            `json:"strictMcpConfig,omitempty"` // only the caller's servers
	SettingSources  *[]string       `json:"settingSources,omitempty"`  // nil = user live, project as a vetted snapshot
	Debug           bool            `json:"debug,omitempty"`
	DebugFile       string          `json:"debugFile,omitempty"`

	Env map[string]string `json:"env,omitempty"`

	// Raw is the caller's whole argument object by parameter name, policy input.
	// nil is allowed for Go callers: it is then built from the fields above.
	Raw map[string]json.RawMessage `json:"-"`
}

// ReplyParams continues a session.
type ReplyParams struct {
	Prompt             string
	Fork               bool
	SessionInitTimeout time.Duration // of the start of a process, where the turn needs one; 0 = 10 s
	PermissionTimeout  time.Duration // 0 = as before
	TurnTimeout        time.Duration // of this turn, from its slot on; 0 = none but Options.TurnTimeout

	// Raw is as [StartParams.Raw].
	Raw map[string]json.RawMessage
}

// ResumeParams continues a session that is no longer kept, from the transcript
// the CLI wrote. It needs Options.DiskResume, a ResumeSecret and a token.
type ResumeParams struct {
	SessionID string
	Token     string // resumeToken, as Session.ResumeToken gave it
	At        string // resumeSessionAt: UUID of the last message to keep; empty = all
	Reply     ReplyParams
	// Options may repeat or narrow what the token signs, never widen it. Cwd is
	// required. What Options.Raw does not name stays as signed, except that
	// AllowedTools is empty then.
	Options StartParams
}

// Answer is a person's or a caller's word on a pending action.
type Answer struct {
	RequestID          string
	Allow              bool
	DenyMessage        string          // deny only; empty = "Permission denied by caller"
	UpdatedInput       json.RawMessage // allow only; nil = unchanged
	UpdatedPermissions json.RawMessage // allow only; a JSON array or nil
	Interrupt          bool            // deny only: end the turn too
	Approver           string          // "caller" (default) or "human" (a person at a door of the owner)
	Digest             string          // SHA-256 of the input that was shown, hexadecimal; empty = not checked
}

// Action is something a session waits for. Its text is redacted.
type Action struct {
	Type        string          `json:"type"` // "permission", "question", "plan" or "form"
	RequestID   string          `json:"requestId"`
	ToolName    string          `json:"toolName"`
	Fields      []ActionField   `json:"fields,omitempty"` // what the asking rule wants to be seen first
	Input       json.RawMessage `json:"input"`            // redacted copy of what would run
	InputSHA256 string          `json:"inputSha256"`      // of the exact bytes that would run
	Summary     string          `json:"summary"`          // one line, control characters escaped
	Description string          `json:"description,omitempty"`
	Rule        string          `json:"rule"`
	Reason      string          `json:"decisionReason,omitempty"`
	ToolUseID   string          `json:"toolUseID"`
	AgentID     string          `json:"agentID,omitempty"`
	Approver    string          `json:"approver,omitempty"`     // "human" when a poll answer does not count
	Approvers   []string        `json:"approvers,omitempty"`    // groups, one of which has to answer; nil = any
	Quorum      int             `json:"quorum,omitempty"`       // approvals it takes, of different approvers; 0 = 1
	ApprovedBy  []string        `json:"approvedBy,omitempty"`   // approvals so far, where it takes several
	Scope       string          `json:"scope,omitempty"`        // what an approval covers besides this call: "exact", "rule" or "session"
	ScopeTTL    int             `json:"scopeSeconds,omitempty"` // for how long; 0 = the session's life
	Questions   json.RawMessage `json:"questions,omitempty"`    // type question
	Plan        string          `json:"plan,omitempty"`         // type plan
	Form        *Form           `json:"form,omitempty"`         // type form
	CreatedAt   time.Time       `json:"createdAt"`
	ExpiresAt   time.Time       `json:"expiresAt"`
	TimeoutMS   int64           `json:"timeoutMs"`
	RemainingMS int64           `json:"remainingMs"`

	Redactions []event.Redaction `json:"redactions,omitempty"` // of the event that told it

	digest string // SHA-256 of that event's data, hexadecimal
}

// ActionField is one value of an input, made visible.
type ActionField struct {
	Pointer string `json:"pointer"` // RFC 6901, into the input
	Value   string `json:"value"`   // control and invisible characters escaped; "" with Missing
	Missing bool   `json:"missing,omitempty"`
}

// Form is what an MCP server of the session asks a person for.
type Form struct {
	Server  string          `json:"server"`
	Message string          `json:"message"`
	Mode    string          `json:"mode"`             // "form" or "url"
	Schema  json.RawMessage `json:"schema,omitempty"` // JSON schema of the content, mode form
	URL     string          `json:"url,omitempty"`    // page to visit, mode url
}

// Result is the end of a turn as clients see it.
type Result struct {
	SessionID           string          `json:"sessionId"`
	Result              string          `json:"result"`
	IsError             bool            `json:"isError"`
	DurationMS          int64           `json:"durationMs"`
	DurationAPIMS       int64           `json:"durationApiMs,omitempty"`
	NumTurns            int             `json:"numTurns"`
	TotalCostUSD        float64         `json:"totalCostUsd"`
	SessionTotalTurns   int             `json:"sessionTotalTurns"`
	SessionTotalCostUSD float64         `json:"sessionTotalCostUsd"`
	StopReason          *string         `json:"stopReason"`
	ErrorSubtype        string          `json:"errorSubtype,omitempty"`
	ErrorType           ErrorType       `json:"errorType,omitempty"`  // of a failed turn
	RetryAfter          int             `json:"retryAfter,omitempty"` // seconds, with RateLimitError
	Code                Code            `json:"code,omitempty"`       // of a turn that ended outside the CLI
	StructuredOutput    json.RawMessage `json:"structuredOutput,omitempty"`
	Usage               json.RawMessage `json:"usage,omitempty"`
	ModelUsage          json.RawMessage `json:"modelUsage,omitempty"`
	PermissionDenials   json.RawMessage `json:"permissionDenials"`

	Redactions []event.Redaction `json:"redactions,omitempty"` // of the event that told it
}

// Info is a session at one moment.
type Info struct {
	ID              string
	State           State
	CreatedAt       time.Time
	LastActiveAt    time.Time
	TotalTurns      int
	TotalCostUSD    float64
	CancelledAt     time.Time // zero unless cancelled
	CancelledReason string
	CancelledSource string
	Stopped         bool // Cancelled by Session.Stop: Engine.Continue, or a resume token, takes it up again
	LastEventID     *int64
	LastToolUseID   string
	Tools           []string // from the CLI's init; nil before it
	CLIVersion      string
	Model           string
	Result          *Result     // newest; nil before the first turn ended
	Warnings        []string    // parameters that will not do what they say, such as unknown tool names
	Params          StartParams // as admitted; texts are redacted
	Mode            string      // permission mode now, see StartParams.PermissionMode; never empty
	ParentID        string
	Queued          bool   // the turn waits for one of Options.MaxConcurrent
	Prompts         int    // turns that have ended, however they did
	LastOutput      string // the end of the model's words in the last turn that ended, redacted, at most 64 KiB; of kept sessions 4 KiB
}
