package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// members are the parts of a document, by name. What is not known, or empty, is
// left out: a plugin learns that it is missing.
type members map[string]json.RawMessage

// put adds a member made of v. Nothing that is put cannot be encoded, except for a
// text that is no UTF-8, in which U+FFFD stands then.
func (m members) put(name string, v any) {
	raw, err := json.Marshal(v)
	if err == nil && string(raw) != `""` && string(raw) != "null" && string(raw) != "{}" {
		m[name] = raw
	}
}

// raw adds a member that is JSON already.
func (m members) raw(name string, value json.RawMessage) {
	if len(value) > 0 {
		m[name] = value
	}
}

// sessionFacts is /session. Counts are there for hooks that judge only.
type sessionFacts struct {
	ID             string            `json:"id,omitempty"`
	Cwd            string            `json:"cwd,omitempty"`
	Mode           string            `json:"mode,omitempty"`
	Model          string            `json:"model,omitempty"`
	Trusted        bool              `json:"trusted"`
	Taint          []string          `json:"taint,omitempty"`
	Parent         string            `json:"parent,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Roots          []string          `json:"roots,omitempty"`
	AdditionalDirs []string          `json:"additional_dirs,omitempty"`
	MaxBudgetUSD   float64           `json:"max_budget_usd,omitempty"`
	MaxTurns       int               `json:"max_turns,omitempty"`
	Started        *time.Time        `json:"started,omitempty"`
	*sessionCounts
}

type sessionCounts struct {
	Turn      int     `json:"turn"`
	Turns     int     `json:"turns"`
	ToolCalls int     `json:"tool_calls"`
	Denies    int     `json:"denies"`
	Asks      int     `json:"asks"`
	CostUSD   float64 `json:"cost_usd"`
}

func judgedSession(id string, s *permission.Session) sessionFacts {
	f := sessionFacts{
		ID: id, Cwd: s.Cwd, Mode: s.Mode, Model: s.Model, Trusted: s.Trusted, Taint: s.Taint, Parent: s.Parent, Labels: s.Labels,
		Roots: s.Roots, AdditionalDirs: s.AdditionalDirs, MaxBudgetUSD: s.MaxBudgetUSD, MaxTurns: s.MaxTurns,
		sessionCounts: &sessionCounts{s.Turn, s.Turns, s.ToolCalls, s.Denies, s.Asks, s.CostUSD},
	}
	if !s.Started.IsZero() {
		started := s.Started.UTC()
		f.Started = &started
	}
	return f
}

// callerFacts is /caller.
type callerFacts struct {
	Client    string   `json:"client,omitempty"`
	Version   string   `json:"version,omitempty"`
	Transport string   `json:"transport,omitempty"`
	Subject   string   `json:"subject,omitempty"`
	Groups    []string `json:"groups,omitempty"`
}

func (m members) caller(c *permission.Caller) {
	m.put("caller", callerFacts{c.Client, c.Version, c.Transport, c.Subject, c.Groups})
}

// origin adds what is known of the session of a payload or an event.
func (m members) origin(o *event.Origin) {
	if o == nil {
		return
	}
	m.put("session", sessionFacts{ID: o.SessionID, Cwd: o.Cwd, Mode: o.Mode, Model: o.Model, Trusted: o.Trusted, Taint: o.Taint})
	m.put("caller", callerFacts{Client: o.Client, Transport: o.Transport, Subject: o.Subject, Groups: o.Groups})
}

// originOf is a judged session as redactors see it.
func originOf(id string, s *permission.Session, c *permission.Caller) *event.Origin {
	return &event.Origin{
		SessionID: id, Cwd: s.Cwd, Mode: s.Mode, Model: s.Model, Trusted: s.Trusted, Taint: s.Taint,
		Client: c.Client, Transport: c.Transport, Subject: c.Subject, Groups: c.Groups,
	}
}

// coveredPart is one entry of /redactions: what was covered in the document.
type coveredPart struct {
	Pointer  string `json:"pointer"`
	Detector string `json:"detector"`
	Count    int    `json:"count"`
}

var errCover = errors.New("covering its document for the sink plugin ended with an error")

// join is the members as one object.
func (m members) join() (json.RawMessage, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	return raw, nil
}

// split takes an object apart again.
func split(object json.RawMessage) (members, error) {
	m, ok := members{}, json.Valid(object)
	ok = ok && rawjson.Each(object, func(literal, value []byte) {
		if name, err := rawjson.Name(literal); err == nil {
			m[name] = value
		}
	})
	if !ok {
		return nil, errCover
	}
	return m, nil
}
