package script

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// fixtures holds recordings of the real CLI 2.1.197, cut down to protocol
// fields: what the host wrote ("in") and what the CLI wrote ("out"), in order.
const fixtures = "../../../testdata/cli"

// recorded lists every fixture with the script that must produce the same
// sequence of frames. There is no deviation.
var recorded = []struct {
	name  string
	turns [][]Step
}{
	{name: "perm_allow", turns: turns(runs("touch file"))},
	{name: "perm_deny", turns: turns(runs("touch file"))},
	{name: "perm_deny_interrupt", turns: [][]Step{{runs("touch file")}, {say("again")}}},
	{name: "perm_allow_no_updated_input", turns: turns(runs("touch file"))},
	{name: "perm_cancel_on_interrupt", turns: [][]Step{{runs("touch file")}, {say("next")}}},
	{name: "perm_stdin_closed_while_pending", turns: turns(runs("touch file"))},
	{name: "hook_pre_deny_readonly", turns: turns(runs("ls"))},
	{name: "hook_pre_ask_readonly", turns: turns(runs("ls"))},
	{name: "hook_pre_error_readonly", turns: turns(runs("ls"))},
	{name: "interrupt_during_tool", turns: [][]Step{
		{{Tool: &Tool{Name: "Bash", Input: command("sleep 20; echo done"), WaitInterrupt: true}}}, {say("second")},
	}},
	{name: "subagent", turns: turns(Step{Agent: &Agent{
		Description: "look", Prompt: "look around", Steps: []Step{runs("ls"), runs("touch file"), say("looked")},
	}})},
	{name: "subagent_background", turns: turns(Step{Agent: &Agent{
		Description: "look", Prompt: "look around", Background: true, Steps: []Step{runs("touch file"), say("looked")},
	}})},
	{name: "ask_user_question", turns: turns(Step{Tool: &Tool{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{}}}})},
	{name: "exit_plan_mode", turns: turns(
		runs("touch one"), Step{Tool: &Tool{Name: "ExitPlanMode", Input: map[string]any{"plan": "a plan"}}}, runs("touch two"))},
	{name: "queued_message", turns: [][]Step{{{SleepMS: 50}, say("one")}, {say("two")}}},
	{name: "max_turns", turns: [][]Step{{runs("ls"), runs("ls"), say("never")}, {runs("ls"), say("done")}}},
	{name: "malformed_line"},
	{name: "hook_pre_continue_false", turns: turns(runs("ls"))},
	{name: "hook_pre_wrong_event_readonly", turns: turns(runs("ls"))},
	{name: "exit_plan_mode_deny", turns: turns(Step{Tool: &Tool{Name: "ExitPlanMode", Input: map[string]any{"plan": "a plan"}}})},
	{name: "json_schema", turns: turns(Step{Tool: &Tool{Name: "StructuredOutput", Input: map[string]any{"name": "Ada"}}})},
	{name: "perm_parallel", turns: turns(Step{Parallel: []Tool{*runs("touch one").Tool, *runs("touch two").Tool}})},
	{name: "perm_parallel_readonly", turns: turns(Step{Parallel: []Tool{fetch("a"), fetch("b")}})},
	{name: "askstar_project_permission_request", turns: turns(Step{Tool: &Tool{
		Name: "Bash", Input: command("touch file"), Withdraw: &Withdraw{Run: true}}})},
}

func command(s string) map[string]any { return map[string]any{"command": s} }
func runs(s string) Step              { return Step{Tool: &Tool{Name: "Bash", Input: command(s)}} }
func say(s string) Step               { return Step{Text: s} }
func fetch(s string) Tool {
	return Tool{Name: "WebFetch", Input: map[string]any{"url": s}, Concurrent: true}
}
func turns(steps ...Step) [][]Step { return [][]Step{append(steps, say("done"))} }

// entry is a line of a fixture.
type entry struct {
	Dir string          `json:"dir"` // args, in, out, end
	Msg json.RawMessage `json:"msg"`
}

func (e entry) object(t *testing.T) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal(e.Msg, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func readFixture(t *testing.T, name string) []entry {
	t.Helper()
	f, err := os.Open(filepath.Join(fixtures, name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var entries []entry
	for s := bufio.NewScanner(f); s.Scan(); {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// TestRecorded replays what the host wrote and compares what comes out.
func TestRecorded(t *testing.T) {
	for _, tt := range recorded {
		t.Run(tt.name, func(t *testing.T) {
			entries := readFixture(t, tt.name)
			var args []string
			if err := json.Unmarshal(entries[0].Msg, &args); err != nil {
				t.Fatal(err)
			}
			h, r := start(t, Scenario{Turns: tt.turns}, args...), newReducer()
			for i, e := range entries[1:] {
				m := e.object(t)
				switch e.Dir {
				case "in":
					h.replay(r, m)
				case "out":
					if got := r.frame(h.next()); !reflect.DeepEqual(got, m) {
						t.Fatalf("line %d:\n got %v\nwant %v", i+2, got, m)
					}
				case "end":
					if code := h.end(); float64(code) != m["exit_code"] {
						t.Errorf("exit code %d, want %v; stderr: %s", code, m["exit_code"], h.stderr)
					}
				}
			}
		})
	}
}

// replay writes one recorded line with the ids of this run.
func (h *host) replay(r *reducer, m map[string]any) {
	h.t.Helper()
	switch m["type"] {
	case "close":
		h.close()
	case "line":
		h.line(m["line"].(string))
	case "control_response":
		response := m["response"].(map[string]any)
		if id := r.requests[response["request_id"].(string)]; id != "" {
			response["request_id"] = id
		}
		h.write(m)
	default:
		h.write(m)
	}
}

// TestRecordedComplete: every fixture of the folder is played.
func TestRecordedComplete(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("fixtures: %v, %v", files, err)
	}
	known := map[string]bool{}
	for _, tt := range recorded {
		known[tt.name+".jsonl"] = true
	}
	for _, f := range files {
		if !known[filepath.Base(f)] {
			t.Errorf("%s is not played", f)
		}
	}
}
