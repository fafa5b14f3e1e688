// Package script is a scripted stand-in for the Claude Code CLI on its
// stream-json pipe. Tests and the demo need sessions that ask, refuse, hang and
// crash on cue, without a model, a network or the real program; nothing a
// script names is ever executed. Start with Scenario: it lists what happens
// after each user message. Main plays one as a process, Pipe in memory.
package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// DefaultVersion is the CLI version a Scenario without one claims to be.
const DefaultVersion = "2.1.197"

// Scenario is what the scripted CLI does. The zero value is a well-behaved CLI
// that answers every message with "(script exhausted)".
type Scenario struct {
	Version string   `json:"version,omitempty"` // empty: DefaultVersion
	Turns   [][]Step `json:"turns,omitempty"`   // one list for each user message, in order
	// ResumeTurns replaces Turns in a process started with --resume.
	ResumeTurns [][]Step `json:"resume_turns,omitempty"`

	MCP MCP `json:"mcp,omitzero"` // towards the host's in-process servers

	ExitAtStart     *Exit            `json:"exit_at_start,omitempty"`       // before stdin is read
	ExitBeforeInit  *Exit            `json:"exit_before_init,omitempty"`    // after the first user message
	InitializeDelay int              `json:"initialize_delay_ms,omitempty"` // before the initialize answer
	UnknownResume   bool             `json:"unknown_resume,omitempty"`      // --resume names no known session
	SettingsDropped *SettingsDropped `json:"settings_dropped,omitempty"`
	// ExtraSettings is laid over the settings of the command line, as settings
	// files of a project or an administrator would be.
	ExtraSettings map[string]any `json:"extra_settings,omitempty"`

	NoHooks          bool `json:"no_hooks,omitempty"`           // hook callbacks are never called
	NoAsk            bool `json:"no_ask,omitempty"`             // can_use_tool is never sent: what no hook denies runs
	NeverInit        bool `json:"never_init,omitempty"`         // no init, nothing, after a user message
	NeverInitialize  bool `json:"never_initialize,omitempty"`   // no answer to initialize
	IgnoreInterrupt  bool `json:"ignore_interrupt,omitempty"`   // neither answered nor obeyed
	IgnoreSIGTERM    bool `json:"ignore_sigterm,omitempty"`     //
	IgnoreSIGINT     bool `json:"ignore_sigint,omitempty"`      //
	IgnoreStdinClose bool `json:"ignore_stdin_close,omitempty"` // the process stays
	NoReadStdin      bool `json:"no_read_stdin,omitempty"`      // stdin is left unread after the first user message
}

// SettingsDropped makes settings of the command line disappear, as happens when
// an administrator's managed settings take precedence.
type SettingsDropped struct {
	// Keys are dotted paths; empty: permissions.ask and allowManagedHooksOnly.
	Keys []string `json:"keys,omitempty"`
	// UnlessIsolated keeps them when --setting-sources= loads no settings file.
	UnlessIsolated bool `json:"unless_isolated,omitempty"`
}

// Exit ends the process.
type Exit struct {
	Code   int    `json:"code"`
	Stderr string `json:"stderr,omitempty"`
}

// Decode reads one Scenario from JSON. Unknown fields and steps that do not name
// exactly one action are errors: a misspelt step must not pass as an empty one.
func Decode(data []byte) (Scenario, error) {
	var s Scenario
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("scenario: decode: %w", err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Scenario{}, errors.New("scenario: decode: more than one JSON value")
	}
	if err := s.validate(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// Load reads the Scenario of a file.
func Load(path string) (Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: read: %w", err)
	}
	s, err := Decode(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func (s Scenario) validate() error {
	for _, turns := range [][][]Step{s.Turns, s.ResumeTurns} {
		for i, steps := range turns {
			if err := validateSteps(steps, false); err != nil {
				return fmt.Errorf("scenario: turn %d: %w", i+1, err)
			}
		}
	}
	return nil
}

func (s Scenario) version() string {
	if s.Version == "" {
		return DefaultVersion
	}
	return s.Version
}

func (s Scenario) turns(resumed bool) [][]Step {
	if resumed && s.ResumeTurns != nil {
		return s.ResumeTurns
	}
	return s.Turns
}
