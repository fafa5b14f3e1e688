package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	defaultHookTimeout = 600 * time.Second
	// maxHookTimer is where the real CLI's timer overflows: longer timeouts
	// fire at once.
	maxHookTimer = (1<<31 - 1) * time.Millisecond
)

// hookMatcher is one registration of initialize.hooks.
type hookMatcher struct {
	Matcher *string  `json:"matcher"`
	IDs     []string `json:"hookCallbackIds"`
	Timeout float64  `json:"timeout"` // seconds; 0: the default
}

func (m hookMatcher) matches(target string) bool {
	if m.Matcher == nil || *m.Matcher == "" || *m.Matcher == "*" {
		return true
	}
	if slices.Contains(strings.Split(*m.Matcher, "|"), target) {
		return true
	}
	re, err := regexp.Compile("^(?:" + *m.Matcher + ")$")
	return err == nil && re.MatchString(target)
}

func (m hookMatcher) timeout() time.Duration {
	switch d := time.Duration(m.Timeout * float64(time.Second)); {
	case m.Timeout <= 0:
		return defaultHookTimeout
	case m.Timeout > maxHookTimer.Seconds():
		return -1
	default:
		return d
	}
}

// hookOutput is a hook's answer. Fields outside the schema are ignored.
type hookOutput struct {
	Continue *bool  `json:"continue"`
	Decision string `json:"decision"` // approve, block
	Reason   string `json:"reason"`
	Specific *struct {
		Event      string          `json:"hookEventName"`
		Decision   string          `json:"permissionDecision"` // allow, deny, ask
		Reason     string          `json:"permissionDecisionReason"`
		Input      map[string]any  `json:"updatedInput"`
		Output     json.RawMessage `json:"updatedToolOutput"`
		MCPOutput  json.RawMessage `json:"updatedMCPToolOutput"`
		Additional string          `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	refused bool // timed out or meant for another event: the call is refused
}

// event describes one firing of a hook.
type event struct {
	name      string
	target    string // what matchers look at: a tool's or agent's name
	toolUseID string
	fields    map[string]any
	sent      func() // runs when the first question is out, or there is none
	opened    func() // runs when the first question is out
}

// fire calls every registered callback in turn. Answers that are errors or do
// not fit the schema are left out: hooks of the real CLI fail open.
func (p *process) fire(a *actor, ev event) ([]hookOutput, error) {
	var outs []hookOutput
	pending := ev.sent
	sent := func() {
		if pending != nil {
			pending()
		}
		if ev.opened != nil {
			ev.opened()
		}
		pending, ev.opened = nil, nil
	}
	for _, m := range p.registered(ev) {
		for _, id := range m.IDs {
			out, ok, err := p.callback(a, ev, id, m.timeout(), sent)
			if err != nil {
				return nil, err
			}
			if ok {
				outs = append(outs, out)
			}
		}
	}
	if pending != nil {
		pending()
	}
	return outs, nil
}

func (p *process) registered(ev event) []hookMatcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sc.NoHooks || p.opt.has("--bare") {
		return nil
	}
	var ms []hookMatcher
	for _, m := range p.hooks[ev.name] {
		if m.matches(ev.target) {
			ms = append(ms, m)
		}
	}
	return ms
}

func (p *process) callback(a *actor, ev event, id string, timeout time.Duration, sent func()) (hookOutput, bool, error) {
	toolUseID := ev.toolUseID
	if toolUseID == "" {
		toolUseID = newUUID()
	}
	ans, err := p.ask(a, inquiry{
		request: map[string]any{
			"subtype": "hook_callback", "callback_id": id, "input": p.hookInput(a, ev), "tool_use_id": toolUseID,
		},
		sent: sent, timeout: timeout,
	})
	if err != nil {
		return hookOutput{}, false, err
	}
	if ans.err == errNoAnswer {
		return hookOutput{refused: true}, true, nil
	}
	out, err := parseHook(ans, ev.name)
	if err != nil {
		fmt.Fprintf(p.stderr, "Error in hook callback %s: %v\n", id, err)
		return hookOutput{}, false, nil
	}
	return out, true, nil
}

func parseHook(ans answer, name string) (hookOutput, error) {
	var out hookOutput
	if ans.err != nil {
		return out, ans.err
	}
	if ans.body == nil {
		return out, nil
	}
	if err := json.Unmarshal(ans.body, &out); err != nil {
		return out, fmt.Errorf("answer does not fit the schema: %w", err)
	}
	if !slices.Contains([]string{"", "approve", "block"}, out.Decision) {
		return out, fmt.Errorf("answer does not fit the schema: decision %q", out.Decision)
	}
	if s := out.Specific; s != nil {
		if !slices.Contains([]string{"", "allow", "deny", "ask"}, s.Decision) {
			return out, fmt.Errorf("answer does not fit the schema: permissionDecision %q", s.Decision)
		}
		out.refused = s.Event != name
	}
	return out, nil
}

func (p *process) hookInput(a *actor, ev event) map[string]any {
	in := map[string]any{
		"session_id": p.session, "transcript_path": p.transcriptPath(), "cwd": p.cwd, "prompt_id": a.t.promptID,
		"permission_mode": p.permissionMode(), "hook_event_name": ev.name,
	}
	if a.agentID != "" {
		in["agent_id"], in["agent_type"] = a.agentID, a.agentType
	}
	if ev.toolUseID != "" {
		in["tool_use_id"], in["effort"] = ev.toolUseID, map[string]any{"level": "high"}
	}
	if ev.name == "SubagentStart" || ev.name == "MessageDisplay" {
		delete(in, "permission_mode")
	}
	maps.Copy(in, ev.fields)
	return in
}

func (p *process) permissionMode() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}
