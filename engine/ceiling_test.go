package engine

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func text(s string) *string           { return &s }
func listOf(s ...string) *[]string    { return &s }
func object(s string) json.RawMessage { return json.RawMessage(s) }

// TestCeiling: what a caller gives over what a token signs.
func TestCeiling(t *testing.T) {
	signed := StartParams{
		Cwd: "/p", AllowedTools: []string{"Read", "Bash(git *)"}, DisallowedTools: []string{"WebFetch"}, Tools: listOf("Read", "Bash"),
		MaxTurns: 5, MaxBudgetUSD: 2, Model: "m1", SystemPrompt: text("be careful"), AdditionalDirs: []string{"/q"},
		Agents: object(`{"a":{"description":"d","prompt":"p"},"b":{"description":"d","prompt":"p"}}`), McpServers: object(`{"s":{"command":"x","args":["1"]}}`),
		Sandbox: object(`{"enabled":true}`), Executable: "/bin/claude", DebugFile: "/p/log", Env: map[string]string{"CI": "1"},
		SettingSources: listOf("user"), StrictMcpConfig: true,
	}
	tests := []struct {
		name    string
		given   StartParams
		refused string                 // part of the error; empty: taken
		want    func(StartParams) bool // of what is taken
	}{
		{"nothing: as signed, nothing runs unasked", StartParams{}, "", func(p StartParams) bool {
			rest := signed
			rest.AllowedTools = nil
			return reflect.DeepEqual(p, rest)
		}},
		{"the same", signed, "", func(p StartParams) bool { return reflect.DeepEqual(p.AllowedTools, signed.AllowedTools) }},
		{"fewer rules", StartParams{AllowedTools: []string{"Bash(git *)"}}, "", func(p StartParams) bool { return len(p.AllowedTools) == 1 }},
		{"a scope of a signed tool, which can grant more than its bare name", StartParams{AllowedTools: []string{"Read(//**)"}}, "allowedTools", nil},
		{"another rule", StartParams{AllowedTools: []string{"Write"}}, "allowedTools", nil},
		{"the whole tool of a signed scope", StartParams{AllowedTools: []string{"Bash"}}, "allowedTools", nil},
		{"another scope", StartParams{AllowedTools: []string{"Bash(rm *)"}}, "allowedTools", nil},
		{"denies add up", StartParams{DisallowedTools: []string{"Write"}}, "", func(p StartParams) bool { return reflect.DeepEqual(p.DisallowedTools, []string{"WebFetch", "Write"}) }},
		{"fewer tools", StartParams{Tools: listOf("Read")}, "", func(p StartParams) bool { return len(*p.Tools) == 1 }},
		{"no tools", StartParams{Tools: listOf()}, "", func(p StartParams) bool { return len(*p.Tools) == 0 }},
		{"more tools", StartParams{Tools: listOf("Read", "Write")}, "tools", nil},
		{"the default set", StartParams{Raw: map[string]json.RawMessage{"tools": object(`{"type":"preset"}`)}}, "tools", nil},
		{"fewer turns", StartParams{MaxTurns: 4}, "", func(p StartParams) bool { return p.MaxTurns == 4 }},
		{"more turns", StartParams{MaxTurns: 6}, "maxTurns", nil},
		{"more money", StartParams{MaxBudgetUSD: 2.5}, "maxBudgetUsd", nil},
		{"less money", StartParams{MaxBudgetUSD: 1}, "", func(p StartParams) bool { return p.MaxBudgetUSD == 1 }},
		{"another folder", StartParams{AdditionalDirs: []string{"/r"}}, "additionalDirectories", nil},
		{"another system prompt", StartParams{SystemPrompt: text("be wild")}, "systemPrompt", nil},
		{"another agent", StartParams{Agents: object(`{"c":{"description":"d","prompt":"p"}}`)}, "agents.c", nil},
		{"a changed agent", StartParams{Agents: object(`{"a":{"description":"d","prompt":"q"}}`)}, "agents.a", nil},
		{"one of the agents, keys in other order", StartParams{Agents: object(`{"a":{"prompt":"p","description":"d"}}`)}, "", func(p StartParams) bool { return !strings.Contains(string(p.Agents), `"b"`) }},
		{"another server", StartParams{McpServers: object(`{"t":{"command":"y"}}`)}, "mcpServers.t", nil},
		{"a changed server", StartParams{McpServers: object(`{"s":{"command":"x","args":["2"]}}`)}, "mcpServers.s", nil},
		{"a looser sandbox", StartParams{Sandbox: object(`{"enabled":false}`)}, "sandbox", nil},
		{"another program", StartParams{Executable: "/tmp/claude"}, "pathToClaudeCodeExecutable", nil},
		{"another log", StartParams{DebugFile: "/p/other"}, "debugFile", nil},
		{"the same variable", StartParams{Env: map[string]string{"CI": "1"}}, "", func(p StartParams) bool { return p.Env["CI"] == "1" }},
		{"another variable", StartParams{Env: map[string]string{"TERM": "x"}}, "env.TERM", nil},
		{"a variable changed", StartParams{Env: map[string]string{"CI": "0"}}, "env.CI", nil},
		{"no settings", StartParams{SettingSources: listOf()}, "", func(p StartParams) bool { return len(*p.SettingSources) == 0 }},
		{"more settings", StartParams{SettingSources: listOf("user", "project")}, "settingSources", nil},
		{"servers of the owner again", StartParams{Raw: map[string]json.RawMessage{"strictMcpConfig": object("false")}}, "strictMcpConfig", nil},
		{"a free choice", StartParams{Model: "m2", Effort: "low"}, "", func(p StartParams) bool { return p.Model == "m2" && p.Effort == "low" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := narrowed(signed, tt.given, []string{"user", "project", "local"})
			switch {
			case tt.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.refused == "" && !tt.want(got):
				t.Errorf("taken as %+v", got)
			case tt.refused != "" && (err == nil || CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), tt.refused+" ")):
				t.Errorf("error %v, want a refusal of %s", err, tt.refused)
			}
		})
	}
}

// TestCeilingOfAnOpenSession: what was not limited may be limited.
func TestCeilingOfAnOpenSession(t *testing.T) {
	got, err := narrowed(StartParams{}, StartParams{MaxTurns: 3, MaxBudgetUSD: 1, Tools: listOf("Read"), SettingSources: listOf("user"), SystemPrompt: text("x"), StrictMcpConfig: true}, []string{"user"})
	if err != nil || got.MaxTurns != 3 || got.MaxBudgetUSD != 1 || got.Tools == nil || got.SettingSources == nil || !got.StrictMcpConfig {
		t.Errorf("narrowing an open session: %+v, %v", got, err)
	}
	for _, given := range []StartParams{
		{AllowedTools: []string{"Read"}}, {Env: map[string]string{"CI": "1"}}, {McpServers: object(`{"s":{}}`)}, {Agents: object(`{"a":{}}`)},
		{Sandbox: object(`{}`)}, {SettingSources: listOf("user", "project")}, {Executable: "/x"}, {DebugFile: "/x"}, {AdditionalDirs: []string{"/x"}},
	} {
		if _, err := narrowed(StartParams{}, given, []string{"user"}); err == nil {
			t.Errorf("widened by %+v", given)
		}
	}
}
