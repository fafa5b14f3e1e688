package audit

import (
	"context"
	"encoding/json"
	"time"
)

// Recorder takes records. It is the port between an engine and its audit log,
// and safe for concurrent use.
type Recorder interface {
	// Record writes r and returns when it is durable. An error means that it may
	// not be there: what it tells of must not take effect.
	Record(ctx context.Context, r Record) error
	// Note writes r soon and does not wait; what cannot be written is counted and
	// told by the next record that can (kind audit_gap).
	Note(r Record)
}

// Kind is what a record tells of.
type Kind string

// The kinds. Those above the line are recorded before they take effect.
const (
	SessionStart  Kind = "session_start"
	SessionResume Kind = "session_resume"
	SessionEnd    Kind = "session_end"
	Decision      Kind = "decision"  // about a tool call, a form or a mention
	Admission     Kind = "admission" // about a start, reply, fork, resume, cancel, answer or list
	ServerStart   Kind = "server_start"

	ServerStop       Kind = "server_stop"
	ConfigLoad       Kind = "config_load"
	PolicyLoad       Kind = "policy_load"
	PluginLoad       Kind = "plugin_load"
	PluginState      Kind = "plugin_state" // a plugin that keeps failing, or works again
	ApprovalAsked    Kind = "approval_asked"
	ApprovalAnswered Kind = "approval_answered"
	ApprovalExpired  Kind = "approval_expired"
	Redaction        Kind = "redaction"  // detectors and counts, never the text
	Unmediated       Kind = "unmediated" // a tool ran that no door had judged
	ProtocolError    Kind = "protocol_error"
	Limit            Kind = "limit"
	Gap              Kind = "audit_gap"  // records that could not be written
	Checkpoint       Kind = "checkpoint" // a signature over the chain so far
	Removal          Kind = "retention"  // a file of a log was removed, for its age or for room
)

// Record is one line of the log; docs/audit.md describes it to its readers.
// Fields that do not fit a kind are left out.
type Record struct {
	// Set by the log.
	Seq  int64     `json:"seq"` // from 0, over all segments of a server
	Time time.Time `json:"time"`
	Boot string    `json:"boot"` // id of the server's run

	Kind      Kind       `json:"kind"`
	Session   string     `json:"session_id,omitempty"`
	Parent    string     `json:"parent_session,omitempty"`
	Principal *Principal `json:"principal,omitempty"`
	CLI       *CLI       `json:"cli,omitempty"`
	Cwd       string     `json:"cwd,omitempty"`
	Action    string     `json:"action,omitempty"` // of an admission
	Door      string     `json:"door,omitempty"`   // where the call was met
	Tool      string     `json:"tool,omitempty"`
	ToolUseID string     `json:"tool_use_id,omitempty"`
	AgentID   string     `json:"agent_id,omitempty"`
	Input     *Input     `json:"input,omitempty"`
	Verdict   *Verdict   `json:"decision,omitempty"`
	By        *By        `json:"by,omitempty"`
	Policy    *Policy    `json:"policy,omitempty"`
	Plugins   []Plugin   `json:"plugins,omitempty"`

	ConfigDigest string          `json:"config_digest,omitempty"` // set by the log
	EvalMicros   int64           `json:"eval_us,omitempty"`       // what judging took
	RequestID    string          `json:"request_id,omitempty"`    // of the question, where one was put
	ShownDigest  string          `json:"shown_digest,omitempty"`  // SHA-256 of the question as it was shown, hexadecimal
	Detail       json.RawMessage `json:"detail,omitempty"`        // what else a kind has to say, a redacted object

	// Set by the log.
	Prev string `json:"prev"` // hash of the record before, hexadecimal
	Hash string `json:"h"`    // SHA-256 of Prev and the record without this member
}

// Principal is who is behind a record.
type Principal struct {
	Transport string   `json:"transport,omitempty"`
	Client    string   `json:"client,omitempty"`
	Version   string   `json:"version,omitempty"`
	Subject   string   `json:"subject,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	UID       int      `json:"uid"` // -1: not known
	Remote    string   `json:"remote,omitempty"`
}

// CLI is the program a session runs.
type CLI struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
}

// Input is what was judged. The log makes the digest from Raw, under a key of
// its own, so that nobody can try inputs against it.
type Input struct {
	Raw     json.RawMessage `json:"-"`
	Bytes   int             `json:"bytes"`             // set by the log
	HMAC    string          `json:"hmac"`              // set by the log: HMAC-SHA-256, hexadecimal
	Excerpt string          `json:"excerpt,omitempty"` // redacted for the sink audit
}

// Verdict is what was decided.
type Verdict struct {
	ID          string   `json:"id,omitempty"`
	Effect      string   `json:"value"`
	Rule        string   `json:"reason_code"`
	Reason      string   `json:"reason,omitempty"`
	Rules       []string `json:"rule_ids,omitempty"` // every rule that spoke
	Obligations []string `json:"obligations,omitempty"`
	Changed     bool     `json:"input_changed,omitempty"`
}

// By is who decided.
type By struct {
	Kind string `json:"kind"` // policy, plugin, caller, approver, grant (an earlier approval), timeout, engine, error
	Name string `json:"name,omitempty"`
}

// Policy are the policies that decided.
type Policy struct {
	Package  string `json:"package,omitempty"`
	Revision string `json:"revision"`
	Digest   string `json:"digest,omitempty"` // set by the log
}

// Plugin is what one plugin said.
type Plugin struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
	Verdict string `json:"verdict"`           // pass, allow, ask or deny
	Binding bool   `json:"binding,omitempty"` // an ask or a deny held whatever policies said
	Error   string `json:"error,omitempty"`   // it gave no answer; the verdict is that of its on_error
	Micros  int64  `json:"us"`
}
