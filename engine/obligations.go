package engine

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// A decision that lets a call run can attach obligations. Whether each can be
// met is looked at before the call may run; one that cannot makes it a deny.

// maxNotify bounds the message of a notify, in bytes.
const maxNotify = 500

// bound denies what d lets run when one of its obligations cannot be met.
func (s *Session) bound(r permission.Request, d permission.Decision) permission.Decision {
	if d.Effect >= permission.Deny || d.Effect == permission.Abstain {
		return d
	}
	if len(d.UpdatedInput) > 0 {
		r.Input = d.UpdatedInput
	}
	for _, o := range d.Obligations {
		if why := s.unmet(r, o); why != "" {
			return deniedBy(d, "engine.obligation", fmt.Sprintf("obligation %s of the decision by rule %s cannot be met: %s", clip(o.Kind), d.Rule, why))
		}
	}
	return d
}

// deniedBy makes a decision a deny of our own.
func deniedBy(d permission.Decision, rule, reason string) permission.Decision {
	d.Rules = append(slices.Clone(d.Rules), "deny:"+rule)
	d.Effect, d.Rule, d.Reason, d.AgentMessage, d.By, d.Severity = permission.Deny, rule, reason, "", "engine", "high"
	d.UpdatedInput, d.Ask, d.Obligations = nil, permission.AskTerms{}, nil
	return d
}

// unmet says why an obligation cannot be met for a call, "" when it can.
func (s *Session) unmet(r permission.Request, o permission.Obligation) string {
	switch o.Kind {
	case "log_full":
		return "" // records hold the full input anyway
	case "notify":
		value, given := o.Args["message"]
		if text, ok := value.(string); given && (!ok || text == "" || len(text) > maxNotify) {
			return fmt.Sprintf("its message has to be a text of 1 to %d bytes", maxNotify)
		}
		return ""
	case "redact_result", "limit_output":
		return unmetOutput(r, o)
	case "sandbox":
		return s.unsandboxed(r)
	case "run_plugin":
		return s.unmetPlugin(r, o)
	}
	return "no such obligation is known"
}

// unmetOutput says why the output of a call cannot be changed.
func unmetOutput(r permission.Request, o permission.Obligation) string {
	switch r.Door {
	case permission.DoorForm:
		return "a form has no output"
	case permission.DoorMention:
		return "the CLI reads what a prompt mentions by itself"
	}
	if r.ToolUseID == "" {
		return "the CLI gave the call no id"
	}
	if _, ok := outputLimit(o); o.Kind == "limit_output" && !ok {
		return "its bytes have to be a whole number from 0"
	}
	return ""
}

// outputLimit reads args.bytes.
func outputLimit(o permission.Obligation) (int, bool) {
	var n float64
	switch v := o.Args["bytes"].(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return 0, false
		}
		n = f
	case float64:
		n = v
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	default:
		return 0, false
	}
	const most = 1 << 30
	return int(min(max(n, 0), most)), n >= 0 && n == float64(int64(min(n, most))) || n > most
}

// sandboxOn reports whether a sandbox parameter asks for the CLI's sandbox.
func sandboxOn(raw json.RawMessage) bool {
	var sandbox struct {
		Enabled bool `json:"enabled"`
	}
	return len(raw) > 0 && json.Unmarshal(raw, &sandbox) == nil && sandbox.Enabled
}

// unsandboxed says why a call would not run in the CLI's sandbox. The sandbox
// holds shell commands only, and on Linux the CLI runs without one, with a
// warning, where bubblewrap is missing.
func (s *Session) unsandboxed(r permission.Request) string {
	var excluded struct {
		Commands []string `json:"excludedCommands"`
	}
	_ = json.Unmarshal(s.params.Sandbox, &excluded) // absent: none; it was an object at the start
	unwrapped := field(r.Input, "dangerouslyDisableSandbox")
	switch {
	case r.Tool != "Bash" || r.Door == permission.DoorForm:
		return "the CLI's sandbox holds the commands of tool Bash only"
	case !sandboxOn(s.params.Sandbox):
		return "the session was started without a sandbox (parameter sandbox, enabled)"
	case len(excluded.Commands) > 0:
		return "the session's sandbox has excludedCommands"
	case len(unwrapped) > 0 && string(unwrapped) != "false" && string(unwrapped) != "null":
		return "the call switches the sandbox off (dangerouslyDisableSandbox)"
	}
	return noSandboxHere()
}

// noSandboxHere says why the CLI has no sandbox on this machine.
var noSandboxHere = func() string {
	switch runtime.GOOS {
	case "darwin":
		return ""
	case "linux":
		if _, err := exec.LookPath("bwrap"); err == nil {
			return ""
		}
		return "bubblewrap (bwrap) is not installed, so the CLI would run the command without a sandbox"
	}
	return "the CLI has no sandbox on " + runtime.GOOS
}

// kinds names obligations for a record.
func kinds(obligations []permission.Obligation) []string {
	var all []string
	for _, o := range obligations {
		if kind := clip(o.Kind); !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	slices.Sort(all)
	return all
}

// tell carries out notify.
func (s *Session) tell(r permission.Request, d permission.Decision) {
	for _, o := range d.Obligations {
		if o.Kind != "notify" {
			continue
		}
		text, _ := o.Args["message"].(string)
		if text = visible(text); text == "" {
			text = "rule " + d.Rule + " let a call of " + clip(r.Tool) + " run"
		}
		s.notice("policy", text, map[string]any{"rule": d.Rule, "toolName": r.Tool, "toolUseID": r.ToolUseID, "agentID": r.AgentID})
		s.engine.log.Warn("policy", "session", s.id, "rule", d.Rule, "tool", s.forLog(strings.ToValidUTF8(clip(r.Tool), "")), "message", s.forLog(text))
	}
}
