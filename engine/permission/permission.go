// Package permission decides whether a tool call may run, and holds the calls
// that wait for a person.
//
// A [Request] goes through a [Chain] of [Decider]s; the strictest answer wins.
// An ask is parked in [Approvals] until somebody answers, the deadline passes
// or the session ends. Everything fails closed: the zero [Effect] grants
// nothing, and a decider that errs denies.
package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Effect says what a decision does to a call. A larger value is stricter.
type Effect uint8

// The effects, in rising strictness.
const (
	Abstain Effect = iota // no opinion; grants nothing
	Allow                 // the call may run as it is
	Modify                // the call may run with the changed input
	Ask                   // somebody has to answer first
	Deny                  // the call does not run
	Halt                  // the call does not run and the turn ends
)

var effectNames = [...]string{"abstain", "allow", "modify", "ask", "deny", "halt"}

// String returns the name policies and clients use, "deny" for a value outside the set.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return effectNames[Deny]
}

// MarshalText writes the name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// ParseEffect reads a name; an unknown one is an error and Deny.
func ParseEffect(name string) (Effect, error) {
	for i, n := range effectNames {
		if n == name {
			return Effect(i), nil
		}
	}
	return Deny, fmt.Errorf("effect %q: unknown, want one of halt, deny, ask, modify, allow, abstain", name)
}

// Door names the place where a call was met.
type Door string

// The doors of the gate.
const (
	DoorHook    Door = "pre_tool_use" // the CLI's PreToolUse callback: early deny
	DoorAsk     Door = "can_use_tool" // the CLI's permission question: the decision point
	DoorAnswer  Door = "answer"       // an input changed by an approver, judged again
	DoorMention Door = "mention"      // an @path in a prompt, judged as a Read
	DoorForm    Door = "elicitation"  // a form of an MCP server, judged as a tool Elicitation
	DoorInproc  Door = "inproc"       // a tool in this process that is about to run, or its result; see InprocDecider
)

// Request is one tool call to judge. Every field is filled by the engine.
type Request struct {
	SessionID string
	Door      Door
	ToolUseID string          // the model's id of the call; can repeat within a session
	AgentID   string          // empty on the main thread
	Tool      string          // exact name as the CLI spells it
	Input     json.RawMessage // a JSON object, exactly the bytes that would run
	Title     string          // the CLI's one-line description of the call, may be empty
	Folder    string          // where the call runs, as a cd of an earlier call left it; empty = Session.Cwd. A relative one is not known
	Agent     Agent           // the sub-agent behind AgentID; the zero value on the main thread
	Suggested json.RawMessage // the CLI's permission_suggestions, a JSON list; nil when none
	Blocked   string          // the path the CLI names as the reason it asks, may be empty
	Caller    Caller
	Session   Session

	// Annotations are what plugins said of the call; the chain sets them.
	Annotations []Annotation
}

// Agent is what is known of a sub-agent.
type Agent struct {
	Type            string // as in the Agent tool's subagent_type; empty when not known
	Depth           int    // 0 on the main thread
	ParentToolUseID string // the call that started it
}

// Caller is who started the session.
type Caller struct {
	Client    string // name the MCP client gave, or "terminal"
	Version   string
	Transport string   // "stdio", "terminal", …
	Subject   string   // authenticated identity; empty over stdio
	Groups    []string // of the subject
	UID       int      // of the peer process; -1 when not known
	Remote    string   // address of the peer; empty over stdio
}

// Recent is one earlier call of a session.
type Recent struct {
	Tool   string
	Effect Effect
	Rule   string
	At     time.Time
}

// Session is what a decider may know about the session of a call.
type Session struct {
	Cwd             string   // absolute, links resolved
	Roots           []string // absolute, links resolved; Cwd lies in one of them
	AdditionalDirs  []string // further folders the caller was granted, absolute, resolved
	Trusted         bool     // the folder's own settings are loaded live
	Mode            string   // "default", "acceptEdits", "plan", "dontAsk", "delegate" or "bypassPermissions"
	AllowedTools    []string // the caller's list, as written
	DisallowedTools []string
	Model           string
	Turn            int
	ToolCalls       int // judged so far
	Denies          int
	Asks            int
	CostUSD         float64
	MaxBudgetUSD    float64           // 0 = no limit
	MaxTurns        int               // 0 = no limit
	Parent          string            // session it was forked from, or empty
	Labels          map[string]string // given at the start; nil = none
	Started         time.Time
	PromptSHA256    string         // of the first prompt, hexadecimal
	Turns           int            // finished, over the session's whole life
	Recent          []Recent       // the last calls, oldest first, at most [MaxRecent]
	Tools           map[string]int // calls by tool name, at most [MaxToolNames] names
	Taint           []string       // "key:value" of the labels of calls that were let through, sorted, at most [MaxTaint]
	SandboxOn       bool           // the CLI's sandbox was asked for
	McpServers      []string       // names of the MCP servers it was given, as its tools spell them, sorted; nil = not known
	NoHooks         bool           // the caller wants no hooks but the gate's
	NoTickets       bool           // the caller wants no tickets written
	InprocServers   []string       // names of the tool servers of this process it was given, sorted; among McpServers too
}

// Bounds of what a session remembers for its policies.
const (
	MaxRecent    = 8
	MaxToolNames = 256
	MaxTaint     = 256
)

// AskTerms says how a question may be answered.
type AskTerms struct {
	TimeoutSeconds int      `json:"timeout_s,omitempty"`  // 0 = the session's own
	OnTimeout      Effect   `json:"on_timeout,omitempty"` // Abstain or Deny = deny, Halt = halt
	Approver       string   `json:"approver,omitempty"`   // "" = any door, "human" = not a client's poll answer
	Approvers      []string `json:"approvers,omitempty"`  // groups, one of which must answer: "human", "client" or a group of the caller; nil = any
	Quorum         int      `json:"quorum,omitempty"`     // answers needed from different approvers; 0 = 1
	Scope          string   `json:"scope,omitempty"`      // what an approval covers at most: "once" (default), "exact", "rule", "session"
	TTLSeconds     int      `json:"ttl_s,omitempty"`      // how long a wider scope holds; 0 = the session's life
	Fields         []string `json:"fields,omitempty"`     // JSON pointers into the input, shown first
}

// IsZero reports terms that demand nothing.
func (t AskTerms) IsZero() bool {
	return t.TimeoutSeconds == 0 && t.OnTimeout == Abstain && t.Approver == "" && t.Approvers == nil &&
		t.Quorum == 0 && t.Scope == "" && t.TTLSeconds == 0 && t.Fields == nil
}

// Obligation is something that must be done with a call that runs.
type Obligation struct {
	Kind string         `json:"kind"` // one of [Obligations]
	Args map[string]any `json:"args,omitempty"`
}

// Obligations are the kinds that are known. Whether one can be met depends on
// the session; one that cannot turns the decision into a deny.
var Obligations = []string{"redact_result", "log_full", "notify", "sandbox", "limit_output", "run_plugin"}

// Cache says that a decision holds for equal calls for a while.
type Cache struct {
	TTLSeconds int
	Key        []string // JSON pointers into the policy input that have to be equal besides the call itself
}

// Decision is the answer to a Request.
type Decision struct {
	Effect       Effect            `json:"effect"`
	Rule         string            `json:"rule"`                    // id of the rule that decided, "engine.…" for our own
	Reason       string            `json:"reason,omitempty"`        // for people
	AgentMessage string            `json:"agent_message,omitempty"` // for the model; Reason when empty
	By           string            `json:"by"`                      // "policy", "plugin" (see Plugin), "caller", "human", "timeout", "engine", …
	Layer        string            `json:"layer,omitempty"`
	Severity     string            `json:"severity,omitempty"`
	Rules        []string          `json:"rules,omitempty"` // every rule that spoke, "effect:rule"
	Asking       []string          `json:"-"`               // every rule that asks, "layer:rule"
	UpdatedInput json.RawMessage   `json:"-"`               // Modify, and Ask about a changed input
	Context      []string          `json:"context,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Ask          AskTerms          `json:"ask,omitzero"`
	Obligations  []Obligation      `json:"obligations,omitempty"` // to be met when the call runs
	Revision     string            `json:"revision,omitempty"`    // of the policies that decided
	Revisions    map[string]string `json:"revisions,omitempty"`   // by layer; shared, not to be changed
	DecisionID   string            `json:"decision_id,omitempty"` // of the decision log
	Diagnostics  []string          `json:"diagnostics,omitempty"`
	Took         time.Duration     `json:"-"` // to judge, by all deciders; set by the engine
	Plugins      []Annotation      `json:"-"` // what plugins said of the call, of the input that would run, without Values; set by the chain

	PluginRevision string `json:"-"` // of the plugins that were heard; set by the chain
}

// Message is the text the model reads when the call does not run.
func (d Decision) Message() string {
	switch {
	case d.AgentMessage != "":
		return d.AgentMessage
	case d.Reason != "":
		return d.Reason
	}
	return "denied by rule " + d.Rule
}

// Decider judges a call. It must be safe for concurrent use, honour ctx and
// not keep r.Input. An error counts as a Deny.
type Decider interface {
	Decide(ctx context.Context, r Request) (Decision, error)
	// Revision names the policies in force; a change makes memoised answers void.
	Revision() string
}
