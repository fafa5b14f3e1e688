package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

// auditExcerpt bounds what a line shows of an input or a detail, in characters.
const auditExcerpt = 100

// auditLine shows a record to people: when, which session, the outcome or the
// kind, about what, and why.
func auditLine(r *audit.Record) string {
	session := shorten0(r.Session, 8)
	outcome, about, why := string(r.Kind), "", ""
	if r.Verdict != nil {
		outcome = r.Verdict.Effect
		why = r.Verdict.Rule
		if r.Verdict.Changed {
			why += " (input changed)"
		}
	}
	if r.By != nil {
		why = strings.TrimSpace(why + " by " + r.By.Kind + " " + r.By.Name)
	}
	if r.Input != nil {
		about = cmp.Or(r.Input.Excerpt, fmt.Sprintf("%d bytes", r.Input.Bytes))
	}
	subject := cmp.Or(r.Tool, r.Action)
	switch {
	case r.Verdict != nil && r.Kind != audit.Decision:
		subject = strings.TrimSpace(string(r.Kind) + " " + subject + " " + answeredWith(r))
	case r.Verdict != nil && r.Door == string(permission.DoorInproc):
		subject += judgedAs(r)
	case r.Verdict == nil && about == "":
		about = string(r.Detail)
	}
	line := fmt.Sprintf("%s  %-8s  %-16s %-10s %s", r.Time.Local().Format("2006-01-02 15:04:05.000"), escapeControl(session),
		escapeControl(outcome), escapeControl(subject), escapeControl(shorten(about, auditExcerpt)))
	if why = escapeControl(strings.TrimSpace(why)); why != "" {
		line = strings.TrimRight(line, " ") + "  [" + why + "]"
	}
	return strings.TrimRight(line, " ")
}

// answeredWith is what was answered, of an admission that lets somebody answer: its own
// outcome is whether they may.
func answeredWith(r *audit.Record) string {
	var d struct {
		Effect string `json:"effect"`
	}
	if r.Kind != audit.Admission || json.Unmarshal(r.Detail, &d) != nil {
		return ""
	}
	return d.Effect
}

// judgedAs tells the call of a tool in this process, beside its gate, from its result.
func judgedAs(r *audit.Record) string {
	var d struct {
		Phase string `json:"phase"`
	}
	if json.Unmarshal(r.Detail, &d) != nil || d.Phase == "" {
		return ""
	}
	return " (" + d.Phase + ")"
}

// plainLine escapes in a line of JSON what a terminal would take for a command, and
// what nobody would see. The line means the same.
func plainLine(line []byte) []byte {
	if !bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' || r == 0x7f }) {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case r < ' ': // between values: JSON has none in texts
			out = append(out, ' ')
		case r > 0xffff && unseen.Rune(r):
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		case r == 0x7f || unseen.Rune(r) || r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, line[i:i+size]...)
		}
		i += size
	}
	return out
}

// shorten0 is the beginning of an id.
func shorten0(s string, n int) string { return s[:min(len(s), n)] }

// exportedRecord is a record as other systems get it: one level, with names that
// stay. docs/audit.md lists them.
type exportedRecord struct {
	Time    time.Time  `json:"time"`
	Server  string     `json:"server"`
	Seq     int64      `json:"seq"`
	Hash    string     `json:"hash"`
	Kind    audit.Kind `json:"kind"`
	Session string     `json:"session_id,omitempty"`
	Parent  string     `json:"parent_session_id,omitempty"`

	Client    string   `json:"client_name,omitempty"`
	ClientVer string   `json:"client_version,omitempty"`
	Transport string   `json:"client_transport,omitempty"`
	Subject   string   `json:"user_subject,omitempty"`
	Groups    []string `json:"user_groups,omitempty"`
	UID       *int     `json:"user_uid,omitempty"`
	Remote    string   `json:"client_address,omitempty"`

	CLIPath    string `json:"cli_path,omitempty"`
	CLIVersion string `json:"cli_version,omitempty"`
	CLISHA256  string `json:"cli_sha256,omitempty"`

	Cwd       string `json:"cwd,omitempty"`
	Action    string `json:"action,omitempty"`
	Door      string `json:"door,omitempty"`
	Tool      string `json:"tool,omitempty"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	AgentID   string `json:"agent_id,omitempty"`

	InputBytes   *int   `json:"input_bytes,omitempty"`
	InputHMAC    string `json:"input_hmac,omitempty"`
	InputExcerpt string `json:"input_excerpt,omitempty"`

	DecisionID   string   `json:"decision_id,omitempty"`
	Decision     string   `json:"decision,omitempty"`
	Rule         string   `json:"rule,omitempty"`
	Reason       string   `json:"reason,omitempty"`
	Rules        []string `json:"rules,omitempty"`
	Obligations  []string `json:"obligations,omitempty"`
	InputChanged bool     `json:"input_changed,omitempty"`
	ByKind       string   `json:"decided_by,omitempty"`
	ByName       string   `json:"decided_by_name,omitempty"`

	PolicyPackage  string         `json:"policy_package,omitempty"`
	PolicyRevision string         `json:"policy_revision,omitempty"`
	PolicyDigest   string         `json:"policy_digest,omitempty"`
	Plugins        []audit.Plugin `json:"plugins,omitempty"`

	ConfigDigest string          `json:"config_digest,omitempty"`
	EvalMicros   int64           `json:"eval_us,omitempty"`
	RequestID    string          `json:"request_id,omitempty"`
	ShownDigest  string          `json:"shown_digest,omitempty"`
	Detail       json.RawMessage `json:"detail,omitempty"`
}

// exported is one line of audit export.
func exported(r *audit.Record) []byte {
	e := exportedRecord{
		Time: r.Time, Server: r.Boot, Seq: r.Seq, Hash: r.Hash, Kind: r.Kind, Session: r.Session, Parent: r.Parent,
		Cwd: r.Cwd, Action: r.Action, Door: r.Door, Tool: r.Tool, ToolUseID: r.ToolUseID, AgentID: r.AgentID,
		Plugins: r.Plugins, ConfigDigest: r.ConfigDigest, EvalMicros: r.EvalMicros, RequestID: r.RequestID,
		ShownDigest: r.ShownDigest, Detail: r.Detail,
	}
	if p := r.Principal; p != nil {
		e.Client, e.ClientVer, e.Transport, e.Subject, e.Groups, e.Remote = p.Client, p.Version, p.Transport, p.Subject, p.Groups, p.Remote
		if p.UID >= 0 {
			e.UID = &p.UID
		}
	}
	if r.CLI != nil {
		e.CLIPath, e.CLIVersion, e.CLISHA256 = r.CLI.Path, r.CLI.Version, r.CLI.SHA256
	}
	if r.Input != nil {
		e.InputBytes, e.InputHMAC, e.InputExcerpt = &r.Input.Bytes, r.Input.HMAC, r.Input.Excerpt
	}
	if v := r.Verdict; v != nil {
		e.DecisionID, e.Decision, e.Rule, e.Reason, e.Rules, e.Obligations, e.InputChanged = v.ID, v.Effect, v.Rule, v.Reason, v.Rules, v.Obligations, v.Changed
	}
	if r.By != nil {
		e.ByKind, e.ByName = r.By.Kind, r.By.Name
	}
	if r.Policy != nil {
		e.PolicyPackage, e.PolicyRevision, e.PolicyDigest = r.Policy.Package, r.Policy.Revision, r.Policy.Digest
	}
	line, err := json.Marshal(e) // its detail was read from JSON
	if err != nil {
		line = fmt.Appendf(nil, `{"server":%q,"seq":%d,"error":%q}`, r.Boot, r.Seq, err.Error())
	}
	return append(plainLine(line), '\n')
}
