package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// dailySet loads rules.toml with rows, and the module beside it.
func dailySet(t *testing.T, rows ...dailyRow) *policy.Set {
	t.Helper()
	folder := t.TempDir()
	p := dailyPlace{folder: folder, data: filepath.Join(folder, "rules.toml"), module: filepath.Join(folder, "daily.rego"), tests: filepath.Join(folder, "daily_test.rego")}
	f, err := readDaily(p.data)
	if err == nil {
		f, err = f.with(rows...)
	}
	if err == nil {
		err = p.write(f, mustDaily("daily/daily_test.rego"))
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := readData([]string{p.data})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(context.Background(), policy.Options{
		Profile: "dev", Paths: []string{p.module}, Data: data, Deadline: time.Minute, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// dailySaid is what daily rules said to a call, and whether the caller's lists name it.
func dailySaid(t *testing.T, set *policy.Set, session permission.Session, tool string, input map[string]any) (rules []string, allowed, disallowed bool) {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := set.Document(permission.Request{SessionID: "s", Door: permission.DoorAsk, ToolUseID: "t", Tool: tool, Input: raw, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		Allowed    struct{ Matched bool } `json:"allowed_by_caller"`
		Disallowed struct{ Matched bool } `json:"disallowed_by_caller"`
	}
	if err := json.Unmarshal(doc, &facts); err != nil {
		t.Fatal(err)
	}
	e, err := set.Evaluate(context.Background(), policy.EntryPermission, doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range e.Layers {
		if l.Failure != "" {
			t.Fatal(l.Failure)
		}
		for _, v := range l.Verdicts {
			if strings.HasPrefix(v.Rule, "daily.") {
				rules = append(rules, v.Rule)
			}
		}
	}
	return rules, facts.Allowed.Matched, facts.Disallowed.Matched
}

// A row means what allowedTools and disallowedTools mean by the same words: the
// module is held against the other implementation of the grammar.
func TestDailyRowsMeanWhatTheCLIMeans(t *testing.T) {
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"src/sub", "docs"} {
		if err := os.MkdirAll(filepath.Join(project, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	commands := []string{
		"npm test", "npm test --watch", "npm testing", "npm  test", "npm", "npm install x", "npm test && rm x", "npm test; npm test --a",
		"npm test > out", "A=b npm test", "timeout 5 npm test", "sudo npm test", "/usr/bin/npm test", "NPM test", "npm test $(ls)",
		"npm test | cat", "cd x && npm test", "npm test &", "git push", "git push origin x", "git -C . push", "git pushed",
		"echo 'a*b'", "echo a.b", "echo [ab]", "echo 'x\ny'", "eval npm test", "bash -c 'npm test'", "xargs npm test", "",
	}
	patterns := []string{"npm test", "npm test*", "npm test *", "npm test:*", "npm *", "*", "git push:*", "git push *", "echo a.b", "echo 'a*", "echo [ab]", "echo*", "* test"}
	files := []string{"a.go", "src/a.go", "src/sub/b.go", "docs/x.md", "../outside", "src", "srcs/x"}
	globs := []string{"src/**", "/src/**", "a.go", "*.go", "src", "src/", "./src/**", "**/b.go", "src/**/b.go", "/a.go", "sub", "//" + strings.TrimPrefix(filepath.ToSlash(project), "/") + "/src/**", "src/*.go", "**"}
	var calls []struct {
		rule, tool string
		input      map[string]any
	}
	add := func(rule, tool string, input map[string]any) {
		calls = append(calls, struct {
			rule, tool string
			input      map[string]any
		}{rule, tool, input})
	}
	for _, p := range patterns {
		for _, c := range commands {
			add("Bash("+p+")", "Bash", map[string]any{"command": c})
		}
	}
	for _, g := range globs {
		for _, f := range files {
			path := filepath.Join(project, filepath.FromSlash(f))
			add("Read("+g+")", "Read", map[string]any{"file_path": path})
			add("Edit("+g+")", "Write", map[string]any{"file_path": path, "content": ""})
			add("Read("+g+")", "Write", map[string]any{"file_path": path, "content": ""})
		}
	}
	for _, host := range []string{"example.com", "www.example.com", "example.com.evil.org", "xexample.com"} {
		for _, d := range []string{"example.com", "*.example.com", "EXAMPLE.com"} {
			add("WebFetch(domain:"+d+")", "WebFetch", map[string]any{"url": "https://" + host + "/x", "prompt": "p"})
		}
	}
	for _, tool := range []string{"mcp__a__b", "mcp__a__bc", "mcp__ab__b"} {
		for _, rule := range []string{"mcp__a", "mcp__a__*", "mcp__a__b", "mcp__a__b*"} {
			add(rule, tool, map[string]any{})
		}
	}
	add("Agent(Explore)", "Agent", map[string]any{"subagent_type": "Explore"})
	add("Agent(Explore)", "Task", map[string]any{"subagent_type": "Explore"})
	add("Task(Explore)", "Agent", map[string]any{"subagent_type": "Other"})
	add("Skill(x)", "Skill", map[string]any{"skill": "x"})
	add("Read", "Read", map[string]any{"file_path": filepath.Join(project, "a.go")})
	add("Read", "Grep", map[string]any{"pattern": "x"})

	sets := map[string]*policy.Set{}
	for _, c := range calls {
		row, err := parseDaily(c.rule, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := sets[c.rule]; !ok {
			allow, deny := row, row
			allow.Effect, deny.Effect = "allow", "deny"
			sets[c.rule] = dailySet(t, allow, deny) // what each says is looked at, not what is decided
		}
		session := permission.Session{Cwd: project, Roots: []string{project}, Mode: "default", AllowedTools: []string{c.rule}, DisallowedTools: []string{c.rule}}
		rules, allowed, disallowed := dailySaid(t, sets[c.rule], session, c.tool, c.input)
		if got := slices.Contains(rules, "daily.allow"); got != allowed {
			t.Errorf("allow %s: %s %v: daily says %v, allowedTools %v", c.rule, c.tool, c.input, got, allowed)
		}
		// a row keeps x/** with x itself, which disallowedTools does not
		folder := strings.HasSuffix(c.rule, "/src/**)") || strings.HasSuffix(c.rule, "(src/**)")
		if got := slices.Contains(rules, "daily.deny"); got != disallowed && !(got && folder && c.input["file_path"] == filepath.Join(project, "src")) {
			t.Errorf("deny %s: %s %v: daily says %v, disallowedTools %v", c.rule, c.tool, c.input, got, disallowed)
		}
	}
	if len(calls) < 500 {
		t.Errorf("%d calls compared", len(calls))
	}
}
