package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// decodeStart reads raw as the arguments of claude_code.
func decodeStart(raw string) (engine.StartParams, error) {
	a, err := decodeArguments(json.RawMessage(raw), parameters(startTool))
	if err != nil {
		return engine.StartParams{}, err
	}
	p := startParams(&a)
	a.wait()
	return p, a.err
}

func TestArgumentsRefused(t *testing.T) {
	const long = `{"prompt":"x","`
	for _, tt := range []struct{ name, raw, want string }{
		{"no arguments", ``, "prompt: is required"},
		{"null arguments", `null`, "prompt: is required"},
		{"not an object", `[1]`, "arguments: want an object, got an array"},
		{"null prompt", `{"prompt":null}`, "prompt: is required"},
		{"blank prompt", `{"prompt":" \n"}`, "prompt: is blank"},
		{"prompt type", `{"prompt":7}`, "prompt: want a string, got a number"},
		{"other case", `{"Prompt":"x"}`, `"Prompt": unknown argument; did you mean "prompt"?`},
		{"folded letter", `{"prompt":"x","ſandbox":{}}`, `unknown argument; did you mean "sandbox"?`},
		{"misspelt", long + `disallowedTool":[]}`, `"disallowedTool": unknown argument; did you mean "disallowedTools"?`},
		{"bypass", long + `bypassPermissions":true}`, `"bypassPermissions": unknown argument`},
		{"nested form", long + `advanced":{}}`, `"advanced": unknown argument`},
		{"disk resume", long + `resumeToken":"t"}`, `"resumeToken": unknown argument`},
		{"twice", `{"prompt":"x","prompt":"y"}`, `"prompt" is given twice`},
		{"list type", long + `allowedTools":"Read"}`, "allowedTools: want an array, got a string"},
		{"list item", long + `allowedTools":["Read",1]}`, "allowedTools[1]: want a string, got a number"},
		{"list null", long + `betas":[null]}`, "betas[0]: want a string, got null"},
		{"boolean", long + `debug":"true"}`, "debug: want a boolean, got a string"},
		{"number", long + `maxTurns":"3"}`, "maxTurns: want a number, got a string"},
		{"fraction", long + `maxTurns":1.5}`, "maxTurns: want a whole number, got 1.5"},
		{"zero", long + `maxTurns":0}`, "maxTurns: want a number from 1 to 1000000, got 0"},
		{"negative", long + `sessionInitTimeoutMs":-1}`, "sessionInitTimeoutMs: want a number from 1 to 86400000, got -1"},
		{"overflow", long + `maxTurns":1e999}`, "maxTurns: 1e999 is out of range"},
		{"too long a wait", long + `waitMs":55001}`, "waitMs: want a number from 0 to 55000, got 55001"},
		{"budget", long + `maxBudgetUsd":0}`, "maxBudgetUsd: want a number above 0"},
		{"permission mode", long + `permissionMode":"dontask"}`, `permissionMode: "dontask" is none of default, acceptEdits, plan, dontAsk, delegate, bypassPermissions; did you mean "dontAsk"?`},
		{"timeout", long + `timeout":0}`, "timeout: want a number from 1 to 86400000, got 0"},
		{"effort", long + `effort":"hihg"}`, `effort: "hihg" is none of low, medium, high, max; did you mean "high"?`},
		{"empty word", long + `effort":""}`, `effort: "" is none of`},
		{"setting source", long + `settingSources":["user","managed"]}`, `settingSources[1]: "managed" is none of user, project, local`},
		{"tools", long + `tools":7}`, "tools: want an array, got a number"},
		{"tools preset", long + `tools":{"type":"preset"}}`, "tools.preset: is required"},
		{"tools other key", long + `tools":{"type":"preset","preset":"claude_code","append":"x"}}`, `tools: "append": unknown argument`},
		{"system prompt", long + `systemPrompt":{"type":"preset","preset":"other"}}`, `systemPrompt.preset: "other" is none of claude_code`},
		{"append", long + `systemPrompt":{"type":"preset","preset":"claude_code","append":1}}`, "systemPrompt.append: want a string"},
		{"agents", long + `agents":[]}`, "agents: want an object, got an array"},
		{"agent without prompt", long + `agents":{"a":{"description":"d"}}}`, "agents.a: prompt: is required"},
		{"server", long + `mcpServers":{"s":"cmd"}}`, "mcpServers.s: want an object, got a string"},
		{"output format", long + `outputFormat":{"type":"json_schema"}}`, "outputFormat.schema: is required"},
		{"output format type", long + `outputFormat":{"schema":{}}}`, "outputFormat.type: is required"},
		{"thinking", long + `thinking":{"type":"enabled"}}`, "thinking.budgetTokens: is required"},
		{"thinking budget", long + `thinking":{"type":"adaptive","budgetTokens":5}}`, "thinking.budgetTokens: goes with type enabled"},
		{"env value", long + `env":{"CI":1}}`, "env.CI: want a string, got a number"},
		{"env twice", long + `env":{"CI":"1","CI":"2"}}`, `env: "CI" is given twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeStart(tt.raw)
			if err == nil || !strings.Contains(err.Error(), tt.want) || engine.CodeOf(err) != engine.InvalidArgument {
				t.Errorf("got %v, want INVALID_ARGUMENT with %q", err, tt.want)
			}
		})
	}
}

func TestArgumentsMapped(t *testing.T) {
	p, err := decodeStart(`{"prompt":"do","cwd":"/w","allowedTools":["Read"],"disallowedTools":["Bash(rm *)"],
		"tools":[],"persistSession":false,"sessionInitTimeoutMs":5000,"permissionRequestTimeoutMs":3e3,"maxTurns":7,
		"maxBudgetUsd":1.5,"model":"m","fallbackModel":"f","systemPrompt":{"type":"preset","preset":"claude_code","append":"more"},
		"agents":{"a":{"description":"d","prompt":"p","tools":["Read"]}},"agent":"a","effort":"max","betas":["b"],
		"additionalDirectories":["/x"],"outputFormat":{"type":"json_schema","schema":{"type":"object"}},
		"thinking":{"type":"enabled","budgetTokens":1024},"pathToClaudeCodeExecutable":"/bin/c","mcpServers":{"s":{"command":"c"}},
		"sandbox":{"enabled":true},"enableFileCheckpointing":true,"includePartialMessages":true,"strictMcpConfig":false,
		"settingSources":[],"debug":true,"debugFile":"/d","env":{"CI":"1","LANG":"C"},"waitMs":0,"permissionMode":"plan","timeout":7000}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"prompt, cwd":       p.Prompt == "do" && p.Cwd == "/w",
		"tool lists":        len(p.AllowedTools) == 1 && p.DisallowedTools[0] == "Bash(rm *)" && p.Tools != nil && len(*p.Tools) == 0,
		"persistSession":    p.PersistSession != nil && !*p.PersistSession,
		"timeouts":          p.SessionInitTimeout == 5*time.Second && p.PermissionTimeout == 3*time.Second && p.TurnTimeout == 7*time.Second,
		"permissionMode":    p.PermissionMode == "plan",
		"limits":            p.MaxTurns == 7 && p.MaxBudgetUSD == 1.5,
		"models":            p.Model == "m" && p.FallbackModel == "f" && p.Effort == "max" && p.Betas[0] == "b",
		"prompts":           p.SystemPrompt == nil && p.AppendPrompt == "more",
		"agents":            string(p.Agents) == `{"a":{"description":"d","prompt":"p","tools":["Read"]}}` && p.Agent == "a",
		"directories":       p.AdditionalDirs[0] == "/x",
		"outputFormat":      string(p.OutputSchema) == `{"type":"object"}`,
		"thinking":          p.Thinking == "enabled" && p.ThinkingBudget == 1024,
		"executable":        p.Executable == "/bin/c" && p.DebugFile == "/d",
		"objects":           string(p.McpServers) == `{"s":{"command":"c"}}` && string(p.Sandbox) == `{"enabled":true}`,
		"flags":             p.FileCheckpoints && p.PartialMessages && !p.StrictMcpConfig && p.Debug,
		"settingSources":    p.SettingSources != nil && len(*p.SettingSources) == 0,
		"env":               p.Env["CI"] == "1" && p.Env["LANG"] == "C",
		"raw has variables": string(p.Raw["env.CI"]) == `"1"` && p.Raw["env"] == nil,
		"raw as sent":       string(p.Raw["permissionRequestTimeoutMs"]) == "3e3",
		"raw of all":        len(p.Raw) == len(parameters(startTool))+1,
	} {
		if !ok {
			t.Errorf("%s: not mapped: %+v", name, p)
		}
	}
}

func TestArgumentsDefaults(t *testing.T) {
	// null means "not set": the seed's own example sends cursor: null.
	p, err := decodeStart(`{"prompt":"x","cwd":null,"tools":{"type":"preset","preset":"claude_code"},"maxTurns":null,"settingSources":null}`)
	if err != nil {
		t.Fatal(err)
	}
	if p.Tools != nil || p.SettingSources != nil || p.PersistSession != nil || p.MaxTurns != 0 || p.Env != nil {
		t.Errorf("defaults: %+v", p)
	}
	if _, ok := p.Raw["cwd"]; ok {
		t.Error("raw has a parameter the caller did not set")
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"prompt":"x","env":{"A":"1"},"tools":["Read"]}`)
	f.Add(`{"prompt":"x","thinking":{"type":"enabled","budgetTokens":1}}`)
	f.Add(`{"prompt":"x","systemPrompt":{"type":"preset"},"maxTurns":1e400}`)
	f.Add(`{"action":"respond_permission","sessionId":"s","requestId":"r","decision":"allow","updatedInput":{"a":1}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if p, err := decodeStart(raw); err == nil && strings.TrimSpace(p.Prompt) == "" {
			t.Errorf("accepted without a prompt: %q", raw)
		}
		a, err := decodeArguments(json.RawMessage(raw), parameters("claude_code_check"))
		if err != nil {
			return
		}
		o, w := readOptions(&a), answerOf(&a)
		if a.err != nil {
			return
		}
		if o.maxEvents < 1 || o.cursor != nil && *o.cursor < 0 {
			t.Errorf("options out of bounds: %+v", o)
		}
		if w.UpdatedInput != nil && string(w.UpdatedInput) != string(a.values["updatedInput"]) {
			t.Error("updatedInput is not what was sent")
		}
	})
}

// A wrong word is answered by the known ones, each of them once, and by the near one.
func TestKnownWordsAreNamedOnce(t *testing.T) {
	for word, want := range map[string]string{
		"frob":   `mode: "frob" is none of alpha, beta`,
		"alhpa":  `mode: "alhpa" is none of alpha, beta; did you mean "alpha"?`,
		"ALPHAS": `mode: "ALPHAS" is none of alpha, beta; did you mean "alpha"?`,
	} {
		a := arguments{values: map[string]json.RawMessage{"mode": json.RawMessage(`"` + word + `"`)}}
		a.choice("mode", "", "alpha", "beta")
		if got := messageOf(a.err); got != want {
			t.Errorf("%s: %s\nwant %s", word, got, want)
		}
	}
}
