package engine

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// keptState is SessionRecord.Engine: what it takes to show a session again. It is
// redacted, and holds neither variables nor configurations of servers.
type keptState struct {
	Params    json.RawMessage   `json:"params,omitempty"` // StartParams as shown
	Caller    permission.Caller `json:"caller"`
	Model     string            `json:"model,omitempty"`
	Mode      string            `json:"mode,omitempty"`
	Version   string            `json:"version,omitempty"` // of the CLI
	Tools     []string          `json:"tools,omitempty"`
	ToolUse   string            `json:"toolUse,omitempty"` // id of the last one
	Warnings  []string          `json:"warnings,omitempty"`
	Result    *int64            `json:"result,omitempty"` // id of the event that told it
	Started   bool              `json:"started,omitempty"`
	Abandoned bool              `json:"abandoned,omitempty"` // its start failed: nobody was given its id
	Narrowed  string            `json:"narrowed,omitempty"`  // what answers left of the mode that was asked for
	Prompt    string            `json:"prompt,omitempty"`    // SHA-256 of the first one
	Prompts   int               `json:"prompts,omitempty"`   // turns that have ended
	Words     string            `json:"words,omitempty"`     // the end of the model's in the last of them, redacted
	Taint     []string          `json:"taint,omitempty"`
	Exact     bool              `json:"exact,omitempty"` // Params, Dirs and Deny are all that the session may do: nothing was covered or left out
	Dirs      []string          `json:"dirs,omitempty"`  // additional directories, resolved
	Deny      []string          `json:"deny,omitempty"`  // rules that answers added
	Cancelled *keptCancel       `json:"cancelled,omitempty"`
	Stopped   *keptStop         `json:"stopped,omitempty"`
	BusyFrom  int64             `json:"busyFrom,omitempty"` // id of the event the turn under way begins with
	Open      []openQuestion    `json:"open,omitempty"`     // questions whose answer no event has told
}

type keptCancel struct {
	Reason string    `json:"reason"`
	Source string    `json:"source"`
	Time   time.Time `json:"time"`
}

// keptStop is a cancel that is not for good.
type keptStop struct {
	keptCancel
	Cut bool `json:"cut,omitempty"` // it cut off a turn whose end no event has told
}

// openQuestion is a question whose answer no event has told yet.
type openQuestion struct {
	RequestID string `json:"requestId"`
	ToolUseID string `json:"toolUseId,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	Tool      string `json:"tool"`
	SHA256    string `json:"inputSha256"`
	From      int64  `json:"from"` // no event before this id tells of it
}

// Bounds of what a record holds, in bytes.
const (
	keptParams = 16 << 10 // of the options; over it the long ones are left out
	keptTitle  = 120
	keptPrompt = 64 << 10 // of the prompt; a longer one gives no title
	keptTools  = 64 << 10 // of the names of tools; the rest is left out
	keptText   = 1 << 10  // of a text that the CLI tells; a longer one is left out
)

// sessionRecord is the session as it stands.
func (s *Session) sessionRecord() event.SessionRecord {
	taint := s.history.tainted()
	deny, whole := s.keptRules()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandoned && s.keeping.before != nil {
		return *s.keeping.before // as if nobody had tried to resume it
	}
	state := s.state
	if state == Cancelled && !s.final && !s.stopped {
		state = s.before // a resume token goes on from there
	}
	k := keptState{
		Params: s.keeping.params, Caller: s.caller, Model: short(s.info.Model), Mode: s.mode, Narrowed: s.narrowedLocked(), Version: short(s.info.CLIVersion),
		Tools: keptNames(s.info.Tools), ToolUse: short(s.info.LastToolUseID), Warnings: s.info.Warnings, Result: s.resultID,
		Started: s.started, Abandoned: s.abandoned, Prompt: s.prompt, Prompts: s.prompts, Words: ending(s.lastOutput, keptLastOutput), Taint: taint,
		Exact: s.keeping.exact && whole, Dirs: s.dirs, Deny: deny,
		BusyFrom: s.busyFrom, Open: slices.SortedFunc(maps.Values(s.untold), byRequest),
	}
	if s.abandoned {
		state = Failed
	}
	if s.state == Cancelled && s.final {
		k.Cancelled = &keptCancel{s.cancelReason, s.cancelSource, s.cancelledTime.UTC()}
	}
	if s.state == Cancelled && s.stopped {
		k.Stopped = &keptStop{keptCancel{s.cancelReason, s.cancelSource, s.cancelledTime.UTC()}, s.before.Busy()}
	}
	raw, err := jsonOf(k)
	if err != nil {
		s.engine.log.Error("record of a session", "session", s.id, "error", err) // cannot happen
	}
	return event.SessionRecord{
		ID: s.id, Parent: s.parent, Server: s.engine.o.Server, State: state.String(), Final: s.state == Cancelled && s.final,
		Created: s.created.UTC(), Updated: time.Now().UTC(), Cwd: s.cwd, Client: s.caller.Client, Title: s.keeping.title,
		Turns: s.info.TotalTurns, CostUSD: s.info.TotalCostUSD, LastTool: s.lastTool, Engine: raw,
	}
}

func byRequest(a, b openQuestion) int { return strings.Compare(a.RequestID, b.RequestID) }

func jsonOf(v any) (json.RawMessage, error) { return json.Marshal(v) }

// shownParams are the redacted options for a record, without those that are never
// shown to anybody.
func (s *Session) shownParams() json.RawMessage {
	p := s.shown
	p.Env, p.McpServers, p.Sandbox, p.Executable, p.DebugFile, p.Raw = nil, nil, nil, "", "", nil
	p.Debug = p.Debug || s.shown.DebugFile != ""
	raw, err := jsonOf(p)
	if err == nil && len(raw) > keptParams {
		p.SystemPrompt, p.AppendPrompt, p.Agents, p.OutputSchema = nil, "", nil, nil
		raw, err = jsonOf(p)
	}
	if err != nil || len(raw) > keptParams {
		return nil
	}
	return raw
}

// title is the beginning of a prompt on one line. A prompt is redacted as a whole,
// since half a secret is not recognised.
func (s *Session) title(prompt string) string {
	if len(prompt) > keptPrompt {
		return ""
	}
	words := strings.Fields(s.redactText(event.SinkEvent, prompt))
	text := visible(strings.Join(words, " "))
	if len(text) <= keptTitle {
		return text
	}
	return strings.ToValidUTF8(text[:keptTitle], "") + "…"
}

// keptNames are the first of the names, as many as keptTools allows.
func keptNames(names []string) []string {
	size := 0
	for i, n := range names {
		if size += len(n) + 3; size > keptTools {
			return names[:i]
		}
	}
	return names
}

// short is a text unless it is too long for a record.
func short(text string) string {
	if len(text) > keptText {
		return ""
	}
	return text
}

// toolNameForm is what a record shows as a tool's name.
var toolNameForm = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)

// lastToolName is name if a record may show it.
func lastToolName(name string) string {
	if !toolNameForm.MatchString(name) {
		return ""
	}
	return name
}
