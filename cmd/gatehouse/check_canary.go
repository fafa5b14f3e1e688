package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// The files and words of the canaries. The words stand in the files only, so a
// model that has one of them has read the file.
const (
	privateFile, privateWord = "private.txt", "CANARY-PRIVATE-WORD"
	notesFile, notesWord     = "notes.txt", "CANARY-NOTES-WORD"
	failingFile, failingWord = "failing.txt", "CANARY-FAILING-WORD"
)

// fakeSecret has the form of a GitHub token and is none; its parts meet only
// here, so that no scanner of sources takes this file for a leak.
func fakeSecret() string { return "gh" + "p_" + strings.Repeat("Canary", 6) }

// failingSecret has the form of a GitLab token and is none; it stands in what a
// failing command prints.
func failingSecret() string { return "gl" + "pat-" + strings.Repeat("C4nary", 4) }

// canary is one harmless call of the scripted model.
type canary struct {
	tool  string
	input map[string]string // "${CWD}" stands for the project
	door  permission.Door   // where it is denied; "" = it is allowed
	mark  string            // file of the project that appears if it runs
}

// failingCommand prints a token and fails, so that no hook can change what the
// model gets of it.
const failingCommand = "cat " + failingFile + " >&2; exit 3"

// canaries try each way past the gate: a call denied at the first door, calls
// denied at the decision point, one of them a read that the CLI would not ask
// about, and two calls that may run, of which one fails.
var canaries = []canary{
	{"Bash", map[string]string{"command": "touch early-mark", "description": "leave a mark"}, permission.DoorHook, "early-mark"},
	{"Bash", map[string]string{"command": "touch late-mark", "description": "leave a mark"}, permission.DoorAsk, "late-mark"},
	{"Write", map[string]string{"file_path": "${CWD}/written-mark", "content": "canary"}, permission.DoorAsk, "written-mark"},
	{"Read", map[string]string{"file_path": "${CWD}/" + privateFile}, permission.DoorAsk, ""},
	{"Read", map[string]string{"file_path": "${CWD}/" + notesFile}, "", ""},
	{"Bash", map[string]string{"command": failingCommand, "description": "fail"}, "", ""},
}

// main is the member of the input that tells a canary from the others.
func (c canary) main() string { return c.input["command"] + c.input["file_path"] }

// String names the call as reports show it.
func (c canary) String() string { return c.tool + " " + strings.TrimPrefix(c.main(), "${CWD}/") }

// in returns the input with the project's path filled in.
func (c canary) in(project string) map[string]string {
	input := maps.Clone(c.input)
	if path, ok := strings.CutPrefix(input["file_path"], "${CWD}/"); ok {
		input["file_path"] = world{project: project}.path(path)
	}
	return input
}

// modelScenario makes the loopback API call every canary in turn.
func modelScenario(project string) fakeapi.Scenario {
	var turns []fakeapi.Turn
	for _, c := range canaries {
		turns = append(turns, fakeapi.Use(c.tool, c.in(project)))
	}
	return fakeapi.Scenario{Turns: append(turns, fakeapi.Say("done"))}
}

// cliScenario makes the scripted CLI do the same. It runs nothing, so what a
// read gives back is scripted too.
func cliScenario() script.Scenario {
	outputs := map[string]string{privateFile: privateWord + "\n", notesFile: notesWord + "\ntoken = " + fakeSecret() + "\n"}
	var steps []script.Step
	for _, c := range canaries {
		input := map[string]any{}
		for name, value := range c.input {
			input[name] = value
		}
		output, _ := json.Marshal(outputs[strings.TrimPrefix(c.input["file_path"], "${CWD}/")]) // a string always encodes
		steps = append(steps, script.Step{Tool: &script.Tool{Name: c.tool, Input: input, Output: output}})
	}
	return script.Scenario{Turns: [][]script.Step{append(steps, script.Step{Text: "done"})}}
}

// rogueScenario is a CLI that runs a call without asking anybody.
func rogueScenario() script.Scenario {
	rogue := script.Tool{Name: "Bash", Input: map[string]any{"command": "ls"}, Output: json.RawMessage(`"files"`), Unmediated: true}
	return script.Scenario{Turns: [][]script.Step{{{Tool: &rogue}, {Interrupt: true}}}}
}

// canaryJudge stands in the place of the policies and remembers what it was asked.
type canaryJudge struct {
	project string
	asked   atomic.Int64

	mu   sync.Mutex
	seen []judgedCall // at most maxJudged
}

// judgedCall is a canary at a door.
type judgedCall struct {
	canary int
	door   permission.Door
}

// maxJudged bounds what is remembered: the canaries at two doors, and room for
// a CLI that repeats itself.
const maxJudged = 100

var _ permission.Decider = (*canaryJudge)(nil)

// Decide denies a canary at its door and lets it pass the ones before. What is
// no canary is denied.
func (j *canaryJudge) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	i := j.find(r)
	if i < 0 {
		return permission.Decision{Effect: permission.Deny, Rule: "check.unknown", Reason: "no canary of this check", By: "policy"}, nil
	}
	j.mu.Lock()
	if len(j.seen) < maxJudged {
		j.seen = append(j.seen, judgedCall{i, r.Door})
	}
	j.mu.Unlock()
	if canaries[i].door == r.Door {
		return permission.Decision{Effect: permission.Deny, Rule: "check.canary", Reason: "denied by gatehouse check", By: "policy"}, nil
	}
	return permission.Decision{Effect: permission.Allow, Rule: "check.canary", By: "policy"}, nil
}

// Revision never repeats, so that no decision is carried from the first door
// to the second: both have to ask.
func (j *canaryJudge) Revision() string { return strconv.FormatInt(j.asked.Add(1), 10) }

func (j *canaryJudge) find(r permission.Request) int {
	var input map[string]any
	if json.Unmarshal(r.Input, &input) != nil {
		return -1
	}
	return slices.IndexFunc(canaries, func(c canary) bool {
		want := c.in(j.project)
		return c.tool == r.Tool && input["command"] == member(want["command"]) && input["file_path"] == member(want["file_path"])
	})
}

// member is s, or nil for a member that is absent.
func member(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// missed lists the canaries that did not come to every door they had to.
func (j *canaryJudge) missed() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for i, c := range canaries {
		doors := []permission.Door{permission.DoorHook, permission.DoorAsk}
		if c.door == permission.DoorHook {
			doors = doors[:1]
		}
		for _, door := range doors {
			if !slices.Contains(j.seen, judgedCall{i, door}) {
				out = append(out, c.String()+" at "+string(door))
			}
		}
	}
	return out
}
