package realcli

import (
	"context"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// owing allows everything, and wants output withheld or cut by words of the input.
type owing struct{}

// Decide implements permission.Decider.
func (owing) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Allow, Rule: "test.allow"}
	switch {
	case strings.Contains(string(r.Input), "hidden"):
		d.Obligations = []permission.Obligation{{Kind: "redact_result"}}
	case strings.Contains(string(r.Input), "long"):
		d.Obligations = []permission.Obligation{{Kind: "limit_output", Args: map[string]any{"bytes": 9}}}
	}
	return d, nil
}

// Revision implements permission.Decider.
func (owing) Revision() string { return "1" }

func TestObligationsReachTheModel(t *testing.T) {
	l := newLab(t)
	l.file("hidden.txt", "MARK-ONE\n")
	l.file("hidden.sh", "echo MARK-TWO")
	l.file("long.sh", "echo MARK-LONG-TAIL")
	l.file("hidden-fails.sh", "echo MARK-FAILED; exit 3")
	l.serve(
		fakeapi.Use("Read", object{"file_path": l.path("hidden.txt")}), bash("sh hidden.sh"), bash("sh long.sh"),
		bash("sh hidden-fails.sh"), fakeapi.Say("read"))
	l.open(func(*engine.Options) { l.judge.next = owing{} })
	s := l.start("go")
	events := l.turns(s, 1, allow)
	for _, mark := range []string{"MARK-ONE", "MARK-TWO", "LONG-TAIL"} {
		if l.api.Saw(mark) || saw(events, event.ToolResult, mark) {
			t.Errorf("%s got out: the model saw it: %v, events:\n%s", mark, l.api.Saw(mark), dump(s))
		}
	}
	if !l.api.Saw("[withheld]") || !l.api.Saw("MARK-LONG\\n[cut at 9 bytes by rule test.allow]") {
		t.Errorf("the model was not told what was left out:\n%s", dump(s))
	}
	// What the documentation says of failed calls: the model reads them, the events are covered.
	if !l.api.Saw("MARK-FAILED") || saw(events, event.ToolResult, "MARK-FAILED") || !saw(events, event.Notice, "a call failed") {
		t.Errorf("a failed call: the model saw it: %v, events:\n%s", l.api.Saw("MARK-FAILED"), dump(s))
	}
}

func TestFactsOfASubAgent(t *testing.T) {
	l := newLab(t)
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{
			{Tools: []fakeapi.ToolUse{{Name: "Agent", ID: "toolu_outer", Input: object{"description": "d", "prompt": "CHILD", "subagent_type": "general-purpose"}}}},
			fakeapi.Say("done"),
		},
		Lanes: []fakeapi.Lane{{Match: "CHILD", Turns: []fakeapi.Turn{bash("echo in the agent"), fakeapi.Say("looked")}}},
	})
	l.open(func(*engine.Options) { l.judge.next = owing{} })
	s := l.start("go")
	l.turns(s, 1, allow)
	calls := l.judge.find("Bash", "in the agent")
	for _, r := range calls {
		if r.AgentID == "" || r.Agent != (permission.Agent{Type: "general-purpose", Depth: 1, ParentToolUseID: "toolu_outer"}) {
			t.Errorf("%s: agent %q, %+v", r.Door, r.AgentID, r.Agent)
		}
	}
	if len(calls) == 0 {
		t.Errorf("the agent's call was not judged:\n%s", dump(s))
	}
}
