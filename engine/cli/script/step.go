package script

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Step is one thing that happens in a turn: exactly one field is set.
// In texts, inputs and outputs ${CWD} stands for the process's folder and
// ${PROMPT} for the text of the user message.
//
// A tool whose name is that of an in-process server of the host, mcp__SERVER__TOOL,
// has no output here: once permitted it is called over the pipe, and what the
// server answers is its output. Messages to such servers must be acknowledged or
// answered as the protocol has it: else the script ends with exit code 3 and a
// line on stderr, as it does where an Expect is not met.
type Step struct {
	Text       string    `json:"text,omitempty"`     // a text block; the last one is the result
	Thinking   string    `json:"thinking,omitempty"` // a thinking block
	Partial    []string  `json:"partial,omitempty"`  // a text block, announced delta by delta
	Tool       *Tool     `json:"tool,omitempty"`
	Parallel   []Tool    `json:"parallel,omitempty"` // tool calls of one message
	Agent      *Agent    `json:"agent,omitempty"`    // a sub-agent
	Result     *Result   `json:"result,omitempty"`   // overrides fields of this turn's result frame
	APIRetry   *APIRetry `json:"api_retry,omitempty"`
	APIError   *APIError `json:"api_error,omitempty"` // ends the turn
	Reveal     string    `json:"reveal,omitempty"`    // a text block holding JSON: args, cwd, prompt, initialize, answer, mcp-config, instructions, env:NAME
	SleepMS    int       `json:"sleep_ms,omitempty"`
	Stderr     string    `json:"stderr,omitempty"`          // a line on stderr
	Exit       *Exit     `json:"exit,omitempty"`            // in the middle of the turn
	Interrupt  bool      `json:"wait_interrupt,omitempty"`  // blocks until the turn is interrupted or stdin ends
	Silence    bool      `json:"silence,omitempty"`         // nothing more until the process is killed: an interrupt is answered and not obeyed
	Raw        *string   `json:"raw,omitempty"`             // a line written as it is
	Oversized  int       `json:"oversized_bytes,omitempty"` // a valid frame of about this many bytes
	Unended    int       `json:"unended_bytes,omitempty"`   // this many bytes and no newline
	Flood      int       `json:"flood,omitempty"`           // this many text frames
	SpawnChild *Child    `json:"spawn_child,omitempty"`

	Frame       map[string]any `json:"frame,omitempty"`       // written with session_id and uuid added
	Request     map[string]any `json:"request,omitempty"`     // a control_request; waits for the answer
	Elicitation map[string]any `json:"elicitation,omitempty"` // fields of an elicitation request
	RateLimit   *RateLimit     `json:"rate_limit,omitempty"`
	MCPMessage  *MCPMessage    `json:"mcp_message,omitempty"`

	MCPWait      *MCPWait `json:"mcp_wait,omitempty"`
	MCPUntil     *Until   `json:"mcp_until,omitempty"`
	MCPHandshake string   `json:"mcp_handshake,omitempty"` // with this server, again or for the first time
}

// Tool is a tool call. Without Error it succeeds with Output.
type Tool struct {
	Name  string         `json:"name"`
	Input map[string]any `json:"input,omitempty"`
	ID    string         `json:"id,omitempty"` // tool_use id; may repeat; empty: numbered
	// Output is a string or, for OutputShape "raw", the tool_response itself.
	Output      json.RawMessage `json:"output,omitempty"`
	OutputShape string          `json:"output_shape,omitempty"` // bash, read, mcp, text, raw; empty: by name
	Error       string          `json:"error,omitempty"`        // the call fails after it was permitted
	DurationMS  int             `json:"duration_ms,omitempty"`  // how long it runs
	Concurrent  bool            `json:"concurrent,omitempty"`   // asked at the same time as its neighbours
	Unmediated  bool            `json:"unmediated,omitempty"`   // misbehaviour: runs without asking anybody

	WaitInterrupt bool      `json:"wait_interrupt,omitempty"` // runs until interrupted or stdin ends
	Die           *Exit     `json:"die,omitempty"`            // exit while its can_use_tool is pending
	Withdraw      *Withdraw `json:"withdraw,omitempty"`

	Fill   map[string]int `json:"fill,omitempty"`   // fields of the input that are this many bytes long
	Expect *Expect        `json:"expect,omitempty"` // of the result as the model reads it

	// For tools of in-process servers.
	TimeoutMS int            `json:"timeout_ms,omitempty"`  // the call is cancelled after this time; 0: never
	Cancel    *Cancel        `json:"cancel,omitempty"`      //
	DieInCall *Exit          `json:"die_in_call,omitempty"` // exit while the server works on it
	SendInput map[string]any `json:"send_input,omitempty"`  // misbehaviour: sent instead of what was permitted
	Unlisted  bool           `json:"unlisted,omitempty"`    // misbehaviour: the server does not list it
}

// Withdraw makes the CLI cancel its own question, as a project's
// PermissionRequest hook that answers first does.
type Withdraw struct {
	AfterMS int  `json:"after_ms"`
	Run     bool `json:"run,omitempty"` // the call runs; false: it is denied
}

// Agent is a sub-agent started with the Agent tool.
type Agent struct {
	ID          string `json:"id,omitempty"` // tool_use id of the Agent call
	AgentID     string `json:"agent_id,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	Type        string `json:"subagent_type,omitempty"` // empty: general-purpose
	// Background agents start when the turn has ended; After is the turn that
	// follows their end without any user message.
	Background bool   `json:"background,omitempty"`
	Steps      []Step `json:"steps,omitempty"`
	After      []Step `json:"after,omitempty"`
}

// Result overrides fields of a result frame; nil fields keep their value.
type Result struct {
	Subtype          string          `json:"subtype,omitempty"`
	IsError          *bool           `json:"is_error,omitempty"`
	Text             *string         `json:"text,omitempty"`
	Errors           []string        `json:"errors,omitempty"`
	Cost             *float64        `json:"cost,omitempty"` // total_cost_usd, dollars, of the process
	NumTurns         *int            `json:"num_turns,omitempty"`
	TerminalReason   string          `json:"terminal_reason,omitempty"`
	APIErrorStatus   *int            `json:"api_error_status,omitempty"`
	StopReason       string          `json:"stop_reason,omitempty"`
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
}

// APIRetry is a system/api_retry frame.
type APIRetry struct {
	Attempt    int     `json:"attempt"`
	MaxRetries int     `json:"max_retries"`
	DelayMS    float64 `json:"retry_delay_ms"` // the real CLI's have fractions
	Status     *int    `json:"error_status"`   // nil: no answer of the API
	Error      string  `json:"error"`          // rate_limit, overloaded, server_error, authentication_failed, unknown
	Wait       bool    `json:"wait,omitempty"` // silent for the delay, as the real CLI is; else the script goes on at once
}

// Child is a real child process in a session of its own, to test sweeping.
type Child struct {
	PIDFile string `json:"pid_file"` // gets the decimal pid; ${CWD} is replaced
}

// count returns how many actions the step names.
func (s Step) count() int {
	n := 0
	for _, set := range []bool{
		s.Text != "", s.Thinking != "", s.Partial != nil, s.Tool != nil, s.Parallel != nil, s.Agent != nil,
		s.Result != nil, s.APIRetry != nil, s.Reveal != "", s.SleepMS > 0, s.Stderr != "", s.Exit != nil, s.Interrupt,
		s.Raw != nil, s.Oversized > 0, s.Unended > 0, s.Flood > 0, s.SpawnChild != nil, s.Frame != nil, s.Request != nil,
		s.Elicitation != nil, s.APIError != nil, s.RateLimit != nil, s.Silence, s.MCPMessage != nil, s.MCPWait != nil, s.MCPUntil != nil, s.MCPHandshake != "",
	} {
		if set {
			n++
		}
	}
	return n
}

func validateSteps(steps []Step, inAgent bool) error {
	for i, s := range steps {
		if err := s.validate(inAgent); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (s Step) validate(inAgent bool) error {
	if n := s.count(); n != 1 {
		return fmt.Errorf("names %d actions, want exactly one", n)
	}
	tools := s.Parallel
	if s.Tool != nil {
		tools = []Tool{*s.Tool}
	}
	for _, t := range tools {
		if err := t.validate(); err != nil {
			return err
		}
	}
	if s.APIError != nil {
		if inAgent {
			return errors.New("api_error: of the main thread only")
		}
		return s.APIError.validate()
	}
	if s.Agent == nil {
		return nil
	}
	if inAgent {
		return errors.New("agent: a sub-agent cannot start another one here")
	}
	return errors.Join(validateSteps(s.Agent.Steps, true), validateSteps(s.Agent.After, false))
}

func (t Tool) validate() error {
	if t.Name == "" {
		return errors.New("tool: name is empty")
	}
	switch t.OutputShape {
	case "", shapeBash, shapeRead, shapeMCP, shapeText, shapeRaw:
		return nil
	}
	return fmt.Errorf("tool %s: output_shape %q is unknown", t.Name, t.OutputShape)
}
