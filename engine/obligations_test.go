package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// owing makes a judge that allows everything, with obligations.
func owing(all ...permission.Obligation) *judge {
	return &judge{revision: "r1", decide: func(permission.Request) permission.Decision {
		return permission.Decision{Effect: permission.Allow, Rule: "test.allow", Obligations: all}
	}}
}

func TestObligations(t *testing.T) {
	bash := `{"name":"Bash","input":{"command":"x"},"output":"0123456789abcdef"}`
	failing := `{"name":"Bash","input":{"command":"x"},"error":"0123456789abcdef"}`
	limit := func(n any) permission.Obligation {
		return permission.Obligation{Kind: "limit_output", Args: map[string]any{"bytes": n}}
	}
	kind := func(k string) permission.Obligation { return permission.Obligation{Kind: k} }
	cases := []struct {
		name  string
		call  string
		owes  []permission.Obligation
		want  []string // in events
		never string
	}{
		{"withheld", bash, []permission.Obligation{kind("redact_result")}, []string{`"content":"[withheld]`, `"obligations":["redact_result"]`}, "0123456789"},
		{"withheld in the events of a failure", failing, []permission.Obligation{kind("redact_result")}, []string{`"content":"[withheld]"`, "hands the output of a failed call to the model as it is"}, "0123456789"},
		{"cut", bash, []permission.Obligation{limit(json.Number("10"))}, []string{`0123456789\n[cut at 10 bytes by rule test.allow]`}, "abcdef"},
		{"short enough", bash, []permission.Obligation{limit(16)}, []string{`0123456789abcdef`}, "cut at"},
		{"the smaller of two", bash, []permission.Obligation{limit(12), limit(4.0)}, []string{`0123\n[cut at 4 bytes`}, "01234"},
		{"withheld beats cut", bash, []permission.Obligation{limit(12), kind("redact_result")}, []string{`[withheld]`}, "0123"},
		{"told", bash, []permission.Obligation{{Kind: "notify", Args: map[string]any{"message": "look\u202e"}}}, []string{`"type":"policy"`, `"message":"look\\u202e"`}, "look\u202e"},
		{"kept", bash, []permission.Obligation{kind("log_full")}, []string{`"behavior":"allow"`, `"obligations":["log_full"]`}, "engine.obligation"},
		{"no such plugin", bash, []permission.Obligation{{Kind: "run_plugin", Args: map[string]any{"name": "scan"}}}, []string{`"rule":"engine.obligation"`, `there is no plugin \"scan\" that sees the output of tools now`}, "0123456789"},
		{"unknown", bash, []permission.Obligation{kind("shred")}, []string{"engine.obligation", "no such obligation is known"}, "0123456789"},
		{"no sandbox", bash, []permission.Obligation{kind("sandbox")}, []string{"engine.obligation", "started without a sandbox"}, "0123456789"},
		{"no number", bash, []permission.Obligation{limit("10")}, []string{"engine.obligation", "whole number"}, "0123456789"},
		{"a negative number", bash, []permission.Obligation{limit(-1)}, []string{"engine.obligation"}, "0123456789"},
		{"a part of a byte", bash, []permission.Obligation{limit(1.5)}, []string{"engine.obligation"}, "0123456789"},
		{"notify without a text", bash, []permission.Obligation{{Kind: "notify", Args: map[string]any{"message": 1}}}, []string{"engine.obligation"}, "0123456789"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, `{"turns":[[{"tool":`+c.call+`}]]}`, owing(c.owes...).use)
			s := h.mustStart()
			h.settled(s)
			all := dump(s)
			for _, part := range c.want {
				if !strings.Contains(all, part) {
					t.Errorf("events lack %s:\n%s", part, all)
				}
			}
			if strings.Contains(all, c.never) {
				t.Errorf("events hold %s:\n%s", c.never, all)
			}
		})
	}
}

func TestSandboxObligation(t *testing.T) {
	call := func(tool, input string) string {
		return `{"turns":[[{"tool":{"name":"` + tool + `","input":` + input + `,"output":"ran"}}]]}`
	}
	cases := []struct{ name, scenario, sandbox, want string }{
		{"a file tool", call("Write", `{"file_path":"/x"}`), `{"enabled":true}`, "of tool Bash only"},
		{"the call leaves it", call("Bash", `{"command":"x","dangerouslyDisableSandbox":true}`), `{"enabled":true}`, "switches the sandbox off"},
		{"commands outside", call("Bash", `{"command":"x"}`), `{"enabled":true,"excludedCommands":["git"]}`, "has excludedCommands"},
		{"switched off", call("Bash", `{"command":"x"}`), `{"enabled":false}`, "started without a sandbox"},
	}
	for _, c := range cases {
		h := newHarness(t, c.scenario, owing(permission.Obligation{Kind: "sandbox"}).use)
		s, err := h.start(func(p *engine.StartParams) { p.Sandbox = json.RawMessage(c.sandbox) })
		if err != nil {
			t.Fatal(err)
		}
		h.settled(s)
		if !find(s, event.PermissionResult, c.want) || !find(s, event.PermissionResult, "engine.obligation") {
			t.Errorf("%s: events:\n%s", c.name, dump(s))
		}
	}
}

// TestFormsAndMentionsOweNoOutput: what cannot be done to them is refused.
func TestFormsAndMentionsOweNoOutput(t *testing.T) {
	j := owing(permission.Obligation{Kind: "redact_result"})
	h := newHarness(t, eliciting(nameForm), func(o *engine.Options) {
		j.use(o)
		o.Mentions = func(string) []string { return []string{"a.txt"} }
	})
	s := h.mustStart()
	if h.settled(s); !find(s, event.PermissionResult, "a form has no output") {
		t.Errorf("events:\n%s", dump(s))
	}
	_, err := h.start(func(p *engine.StartParams) { p.Prompt = "read @a.txt" })
	if engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "engine.obligation") {
		t.Errorf("a mention: %v", err)
	}
}
