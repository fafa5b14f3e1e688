package policy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func described(t *testing.T, r admission.Request) requestInput {
	t.Helper()
	in, err := load(t, Options{}).describeAdmission(r)
	if err != nil {
		t.Fatal(err)
	}
	return in.Request
}

func TestDescribeRequest(t *testing.T) {
	got := described(t, start(`{
		"prompt": "hi", "model": "m", "fallbackModel": "f", "permissionMode": "plan", "allowedTools": ["Read"], "disallowedTools": ["Bash"],
		"tools": ["Read"], "maxTurns": 3, "maxBudgetUsd": 0.5, "waitMs": 1500, "settingSources": ["user"], "sandbox": {"enabled": true},
		"agents": {"b": {}, "a": {}}, "systemPrompt": {"type": "preset", "preset": "claude_code", "append": "be kind"},
		"env.Api_Token": "v", "env.STAGE": "w",
		"mcpServers": {"n": {"command": "srv", "args": ["-x"], "env": {"Key": "secret"}}, "h": {"type": "http", "url": "https://x", "headers": {"Authorization": "secret"}}}
	}`))
	want := requestInput{
		Cwd: "/w", Model: "m", FallbackModel: "f", PermissionMode: "plan", AllowedTools: []string{"Read"}, DisallowedTools: []string{"Bash"},
		Tools: []string{"Read"}, MaxTurns: 3, MaxUSD: 0.5, TimeoutS: 2, SettingSources: []string{"user"}, Sandbox: map[string]any{"enabled": true},
		Agents: []string{"a", "b"}, SystemPrompt: textOf("append", "be kind"), Prompt: textOf("text", "hi"),
		Env: []variableInput{{Name: "API_TOKEN", Sensitive: true, ValueSHA256: digest("v")}, {Name: "STAGE", ValueSHA256: digest("w")}},
		McpServers: []serverInput{
			{Name: "h", Source: "caller", Transport: "http", Args: []string{}, URL: "https://x", Env: []string{}, Headers: []string{"authorization"}},
			{Name: "n", Source: "caller", Transport: "stdio", Command: "srv", Args: []string{"-x"}, Env: []string{"KEY"}, Headers: []string{}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if raw, _ := json.Marshal(got); strings.Contains(string(raw), "secret") {
		t.Error("the document holds a value of a variable or header")
	}
}

func TestDescribeTexts(t *testing.T) {
	long := strings.Repeat("é", maxTextShown) // two bytes each
	raw, _ := json.Marshal(map[string]string{"prompt": long, "systemPrompt": "be brief"})
	got := described(t, start(string(raw)))
	if p := got.Prompt; p.Bytes != len(long) || len(p.Text) > maxTextShown || len(p.Text) < maxTextShown-3 || p.SHA256 != digest(long) || !strings.HasPrefix(long, p.Text) {
		t.Errorf("prompt: %d bytes, %d shown", p.Bytes, len(p.Text))
	}
	if s := got.SystemPrompt; s.Kind != "text" || s.Text != "be brief" {
		t.Errorf("system prompt: %+v", s)
	}
	none := described(t, start(`{"systemPrompt": {"type": "preset"}, "tools": {"type": "preset"}, "prompt": null}`))
	if none.SystemPrompt.Kind != "preset" || none.Prompt != (textInput{Kind: "none"}) || len(none.Tools) != 0 {
		t.Errorf("got %+v", none)
	}
}

// TestRequestOfOtherTypes holds a value of a wrong type for each parameter: a
// deny, whatever is granted, and never a panic.
func TestRequestOfOtherTypes(t *testing.T) {
	s := load(t, Options{Grants: []string{"*"}})
	for name, value := range map[string]string{
		"model": `1`, "fallbackModel": `[]`, "permissionMode": `{}`, "allowedTools": `"Read"`, "disallowedTools": `[1]`, "tools": `7`,
		"maxTurns": `1.5`, "maxBudgetUsd": `"1"`, "waitMs": `[]`, "timeout": `"5"`, "settingSources": `[null]`, "sandbox": `[]`, "agents": `"x"`,
		"systemPrompt": `7`, "prompt": `{}`, "env.X": `7`, "mcpServers": `[]`, "pathToClaudeCodeExecutable": `true`,
	} {
		d, err := s.Admit(context.Background(), start(`{"`+name+`":`+value+`}`))
		if err != nil || d.Effect != permission.Deny || d.Rule != "engine.input" || !strings.Contains(d.Reason, name) {
			t.Errorf("%s %s: got %s by %s (%s)", name, value, d.Effect, d.Rule, d.Reason)
		}
	}
	for _, value := range []string{`{"a":1}`, `{"a":{"command":1}}`, `{"a":{"args":"x"}}`, `{"a":{"env":[]}}`, `{"a":{"headers":7}}`} {
		d, _ := s.Admit(context.Background(), start(`{"mcpServers":`+value+`}`))
		if d.Rule != "engine.input" || !strings.Contains(d.Reason, "mcpServers") {
			t.Errorf("%s: got %s by %s (%s)", value, d.Effect, d.Rule, d.Reason)
		}
	}
	if d, _ := s.Admit(context.Background(), start(`{"systemPrompt":{"type":"preset","append":1}}`)); d.Rule != "engine.input" {
		t.Errorf("append: got %s by %s", d.Effect, d.Rule)
	}
}

func TestExecutableOfRequest(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work", "more", "bin"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) string {
		path := filepath.Join(top, name)
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inRoot, inMore, apart := write("work/claude"), write("more/claude"), write("bin/claude")
	link := filepath.Join(top, "bin", "link")
	if err := os.Symlink(inRoot, link); err != nil {
		t.Fatal(err)
	}
	r := admission.Request{Roots: []string{filepath.Join(top, "work")}, AdditionalDirs: []admission.Dir{{Path: filepath.Join(top, "more")}}}
	for path, want := range map[string]executableInput{
		inRoot: {inRoot, inRoot, true}, inMore: {inMore, inMore, true}, apart: {apart, apart, false}, link: {link, inRoot, true},
		filepath.Join(top, "work/../bin/claude"): {filepath.Join(top, "bin/claude"), apart, false}, top + "/none": {top + "/none", "", false},
	} {
		if got := executableOf(path, r); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
}

// The timeout of a call is told in seconds, whichever parameter it came by.
func TestTimeoutOfRequest(t *testing.T) {
	for args, want := range map[string]int{
		`{}`: 0, `{"waitMs":2500}`: 3, `{"timeout":600000}`: 600, `{"timeout":1}`: 1, `{"timeout":5000,"waitMs":0}`: 5,
	} {
		if got := described(t, start(args)).TimeoutS; got != want {
			t.Errorf("%s: %d s, want %d", args, got, want)
		}
	}
}
