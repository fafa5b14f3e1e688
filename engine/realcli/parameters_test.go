package realcli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// seen is what one session left behind: the requests its model got, its events
// and its end.
type seen struct {
	*lab
	bodies  []body
	headers []string // anthropic-beta of each request
	events  []event.Event
	info    engine.Info
	session *engine.Session
}

// body is what of a request to the model parameters change.
type body struct {
	Model        string          `json:"model"`
	System       json.RawMessage `json:"system"`
	Thinking     json.RawMessage `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

func (b body) tools() []string {
	names := make([]string, len(b.Tools))
	for i, tool := range b.Tools {
		names[i] = tool.Name
	}
	return names
}

// check is one row: a parameter, and what shows that it had its effect.
type check struct {
	parameter string
	holds     func(seen) bool
}

// session is one start of the CLI with several parameters that do not touch
// each other, since a start takes half a second and 200 MiB.
type session struct {
	name     string
	prepare  func(*lab, *engine.StartParams)
	scenario func(*lab) fakeapi.Scenario
	grants   []string
	checks   []check
}

var parameterSessions = []session{
	{
		name: "model",
		prepare: func(l *lab, p *engine.StartParams) {
			text := "YOU ARE THE LAB"
			l.file("~/.claude/CLAUDE.md", "MARK-USER-MEMORY")
			l.file("sub/here.txt", "x")
			p.Model, p.SystemPrompt, p.Betas = "claude-sonnet-4-5", &text, []string{"context-1m-2025-08-07"}
			p.Thinking, p.ThinkingBudget = "enabled", 2048
			p.Tools, p.DisallowedTools = &[]string{"Bash", "Read", "WebFetch"}, []string{"WebFetch"}
			l.file("more/there.txt", "x")
			p.Cwd, p.AdditionalDirs = l.path("sub"), []string{l.path("more")}
			p.Env, p.FileCheckpoints, p.PartialMessages = map[string]string{"CI": "MARK-CI"}, true, true
			p.AllowedTools = []string{"Bash", "Bash(printenv *)"}
		},
		scenario: func(l *lab) fakeapi.Scenario {
			return fakeapi.Scenario{Turns: []fakeapi.Turn{
				bash("printenv CI CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"),
				bash("pwd"),
				bash("cd " + l.path("more")), // reset at once for a folder that is not a working one
				bash("pwd"),
				fakeapi.Say("all done"),
			}}
		},
		checks: []check{
			{"model", func(s seen) bool { return s.bodies[0].Model == "claude-sonnet-4-5" }},
			{"systemPrompt", func(s seen) bool {
				return strings.Contains(string(s.bodies[0].System), "YOU ARE THE LAB") && !strings.Contains(string(s.bodies[0].System), "# Doing tasks")
			}},
			{"betas", func(s seen) bool { return strings.Contains(s.headers[0], "context-1m-2025-08-07") }},
			{"thinking", func(s seen) bool {
				return string(s.bodies[0].Thinking) == `{"budget_tokens":2048,"type":"enabled"}`
			}},
			{"tools", func(s seen) bool { return slices.Equal(sorted(s.bodies[0].tools()), []string{"Bash", "Read"}) }},
			{"disallowedTools", func(s seen) bool { return !slices.Contains(s.info.Tools, "WebFetch") }},
			{"allowedTools", func(s seen) bool { return !saw(s.events, event.PermissionAsked, "") && s.api.Saw("MARK-CI") }},
			{"cwd", func(s seen) bool { return saw(s.events, event.ToolResult, s.path("sub")) }},
			{"additionalDirectories", func(s seen) bool { return saw(s.events, event.ToolResult, s.path("more")) && !s.api.Saw("was reset") }},
			{"env", func(s seen) bool { return saw(s.events, event.ToolResult, "MARK-CI") }},
			{"enableFileCheckpointing", func(s seen) bool { return saw(s.events, event.ToolResult, "true") }},
			{"includePartialMessages", func(s seen) bool { return saw(s.events, event.Partial, "text_delta") }},
			{"settingSources-default", func(s seen) bool { return s.api.Saw("MARK-USER-MEMORY") }},
			{"persistSession-default", func(s seen) bool { return s.kept() > 0 }},
		},
	},
	{
		name: "effort",
		prepare: func(l *lab, p *engine.StartParams) {
			never := false
			l.file("~/.claude/CLAUDE.md", "MARK-USER-MEMORY")
			p.AppendPrompt, p.Effort, p.Thinking = "MARK-APPENDED", "low", "adaptive"
			p.PersistSession, p.SettingSources = &never, &[]string{}
		},
		scenario: said("all done"),
		checks: []check{
			{"systemPrompt-append", func(s seen) bool {
				system := string(s.bodies[0].System)
				return strings.Contains(system, "MARK-APPENDED") && len(system) > 2000 // beside the CLI's own
			}},
			{"effort", func(s seen) bool { return s.bodies[0].OutputConfig.Effort == "low" }},
			{"thinking-adaptive", func(s seen) bool { return strings.Contains(string(s.bodies[0].Thinking), `"adaptive"`) }},
			{"persistSession", func(s seen) bool { return s.kept() == 0 }},
			{"settingSources", func(s seen) bool { return !s.api.Saw("MARK-USER-MEMORY") }},
			{"includePartialMessages-default", func(s seen) bool { return !saw(s.events, event.Partial, "") }},
		},
	},
	{
		name:   "agent",
		grants: []string{"pathToClaudeCodeExecutable", "debugFile", "sandbox"},
		prepare: func(l *lab, p *engine.StartParams) {
			p.Agents = json.RawMessage(`{"mine":{"description":"does it","prompt":"MARK-AGENT","tools":["Read"]}}`)
			p.Agent, p.Model, p.Thinking = "mine", "claude-sonnet-4-5", "disabled"
			p.Executable, p.DebugFile = l.cli, "debug.log"
			p.Sandbox = json.RawMessage(`{"enabled":false}`)
		},
		scenario: said("all done"),
		checks: []check{
			{"agents", func(s seen) bool { return slices.Equal(s.bodies[0].tools(), []string{"Read"}) }},
			{"agent", func(s seen) bool { return strings.Contains(string(s.bodies[0].System), "MARK-AGENT") }},
			{"thinking-disabled", func(s seen) bool { return string(s.bodies[0].Thinking) == `{"type":"disabled"}` }},
			{"pathToClaudeCodeExecutable", func(s seen) bool { return s.info.CLIVersion != "" }},
			{"debugFile", func(s seen) bool { return exists(s.path("debug.log")) }},
			{"sandbox", func(s seen) bool { return s.info.Result.Result == "all done" }},
		},
	},
	{
		name: "outputFormat",
		prepare: func(l *lab, p *engine.StartParams) {
			p.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
			p.FallbackModel, p.Model = "claude-haiku-4-5", "claude-sonnet-4-5"
		},
		scenario: func(*lab) fakeapi.Scenario {
			busy := fakeapi.Fail(529, "overloaded_error", "Overloaded")
			busy.Repeat = 4
			return fakeapi.Scenario{Turns: []fakeapi.Turn{busy, fakeapi.Use("StructuredOutput", object{"n": 7}), fakeapi.Say("given")}}
		},
		checks: []check{
			{"outputFormat", func(s seen) bool { return string(s.info.Result.StructuredOutput) == `{"n":7}` }},
			{"fallbackModel", func(s seen) bool {
				return s.bodies[len(s.bodies)-1].Model == "claude-haiku-4-5" && saw(s.events, event.Progress, "model_fallback")
			}},
			{"usage", func(s seen) bool { return strings.Contains(string(s.info.Result.Usage), `"input_tokens"`) }},
			{"modelUsage", func(s seen) bool { return strings.Contains(string(s.info.Result.ModelUsage), "haiku") }},
		},
	},
	{
		name:    "maxTurns",
		prepare: func(_ *lab, p *engine.StartParams) { p.MaxTurns, p.AllowedTools = 1, []string{"Bash"} },
		scenario: func(*lab) fakeapi.Scenario {
			return fakeapi.Scenario{Turns: []fakeapi.Turn{bash("true"), bash("true")}}
		},
		checks: []check{
			{"maxTurns", func(s seen) bool {
				return s.info.State == engine.Failed && s.info.Result.IsError && s.info.Result.ErrorSubtype == "error_max_turns"
			}},
		},
	},
	{
		name:    "maxBudgetUsd",
		prepare: func(_ *lab, p *engine.StartParams) { p.MaxBudgetUSD, p.Tools = 0.05, &[]string{} },
		scenario: func(*lab) fakeapi.Scenario {
			dear := bash("true")
			dear.Usage = fakeapi.Usage{InputTokens: 100_000, OutputTokens: 1000}
			return fakeapi.Scenario{Turns: []fakeapi.Turn{dear}, SideInLanes: true}
		},
		checks: []check{
			{"maxBudgetUsd", func(s seen) bool {
				return s.info.Result.ErrorSubtype == "error_max_budget_usd" && s.info.TotalCostUSD > 0.05
			}},
			{"tools-none", func(s seen) bool { return len(s.bodies[0].Tools) == 0 && len(s.info.Tools) == 0 }},
		},
	},
}

func said(text string) func(*lab) fakeapi.Scenario {
	return func(*lab) fakeapi.Scenario { return fakeapi.Scenario{Turns: []fakeapi.Turn{fakeapi.Say(text)}} }
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// kept counts the transcripts the CLI wrote.
func (s seen) kept() int {
	files, _ := filepath.Glob(filepath.Join(s.home, ".claude/projects/*", s.session.ID()+".jsonl")) // the pattern is valid
	return len(files)
}

func TestParameters(t *testing.T) {
	for _, row := range parameterSessions {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(t)
			l.scenario(row.scenario(l))
			l.open(l.granted(row.grants))
			p := engine.StartParams{Prompt: "go"}
			row.prepare(l, &p)
			s := l.startWith(p)
			all := seen{lab: l, session: s, events: l.turns(s, 1, refuse), info: s.Info()}
			all.read()
			for _, c := range row.checks {
				t.Run(c.parameter, func(t *testing.T) {
					if !c.holds(all) {
						t.Errorf("no effect of %s\nresult %+v\nfirst request %.600s\n%s", c.parameter, all.info.Result, all.first(), dump(s))
					}
				})
			}
			l.untouched(s)
		})
	}
}

// granted adds grants to the policies that admit.
func (l *lab) granted(names []string) func(*engine.Options) {
	return func(o *engine.Options) {
		set, err := policy.Load(l.Context(), policy.Options{Profile: "dev", Home: l.home, Grants: names})
		if err != nil {
			l.Fatal(err)
		}
		o.Admission = []admission.Decider{set}
		if slices.Contains(names, "pathToClaudeCodeExecutable") {
			o.Executable = "/no/such/claude" // so only the caller's can have run
		}
		o.Environ = append(o.Environ, "CLAUDE_CODE_MAX_RETRIES=2") // with none there is no falling back
	}
}

// read decodes the requests of the main conversation.
func (s *seen) read() {
	s.Helper()
	for _, r := range s.api.Requests() {
		if r.Lane != fakeapi.MainLane {
			continue
		}
		var b body
		if err := json.Unmarshal(r.Body, &b); err != nil {
			s.Fatal(err)
		}
		s.bodies = append(s.bodies, b)
		s.headers = append(s.headers, strings.Join(r.Header.Values("Anthropic-Beta"), ","))
	}
	if len(s.bodies) == 0 || s.info.Result == nil {
		s.Fatalf("the model was never asked, or the turn has no result: %+v\n%s", s.info, dump(s.session))
	}
}

func (s seen) first() string { return string(s.api.Requests()[0].Body) }
