package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// asked is the line of a call that asked, or was denied.
func asked(n int, tool, input, effect, rule, bash string) decisionlog.Event {
	if bash == "" {
		bash = "null"
	}
	return decisionlog.Event{
		DecisionID: fmt.Sprint("d", n), Path: "gatehouse/permission/decisions", Timestamp: time.Now(),
		Input:  json.RawMessage(fmt.Sprintf(`{"door":"can_use_tool","tool":{"name":%q,"use_id":"t%d","input":%s},"session":{"id":"s","cwd":"/p"},"bash":%s}`, tool, n, input, bash)),
		Result: json.RawMessage(fmt.Sprintf(`{"effect":%q,"rule":%q}`, effect, rule)),
	}
}

// shellFacts are those of plain commands.
func shellFacts(ok bool, texts ...string) string {
	var all []string
	for _, text := range texts {
		name, _, _ := strings.Cut(text, " ")
		all = append(all, fmt.Sprintf(`{"text":%q,"static":true,"name":{"value":%q,"basename":%q},"redirects":[],"env":[]}`, text, name, name))
	}
	return fmt.Sprintf(`{"ok":%v,"features":{"assign":false},"commands":[%s]}`, ok, strings.Join(all, ","))
}

func answerOf(n int, effect, admitted string) decisionlog.Event {
	return decisionlog.Event{
		DecisionID: fmt.Sprint("a", n), Path: "gatehouse/admission/decisions", Timestamp: time.Now(),
		Input:  json.RawMessage(fmt.Sprintf(`{"action":"answer","approval":{"decision_id":"d%d","effect":%q}}`, n, effect)),
		Result: json.RawMessage(fmt.Sprintf(`{"effect":%q,"rule":"x.y"}`, admitted)),
	}
}

func TestAudit(t *testing.T) {
	bash := func(n int, texts ...string) decisionlog.Event {
		return asked(n, "Bash", `{"command":"x"}`, "ask", defaultRule, shellFacts(true, texts...))
	}
	covered := bash(1, "make x")
	covered.Masked = []string{"/input/tool/input/command"}
	old := bash(1, "make x")
	old.Timestamp = time.Now().Add(-48 * time.Hour)
	for _, test := range []struct {
		name   string
		events []decisionlog.Event
		rules  string
		counts string // asks allowed denied unknown dangers unfit
	}{
		{"none", nil, "", "0 0 0 0 0 0"},
		{"an exact command", []decisionlog.Event{bash(1, "make x"), answerOf(1, "allow", "allow")}, "Bash(make x)", "1 1 0 0 0 0"},
		{"an answer that was not admitted", []decisionlog.Event{bash(1, "make x"), answerOf(1, "deny", "deny")}, "Bash(make x)", "1 0 0 1 0 0"},
		{"denied by a person", []decisionlog.Event{bash(1, "make x"), answerOf(1, "deny", "allow")}, "", "1 0 1 0 0 0"},
		{"nobody answered", []decisionlog.Event{bash(1, "make x")}, "Bash(make x)", "1 0 0 1 0 0"},
		{"denied for want of a rule", []decisionlog.Event{asked(1, "Bash", `{"command":"x"}`, "deny", defaultRule, shellFacts(true, "make x"))}, "Bash(make x)", "1 0 0 1 0 0"},
		{"denied by a rule", []decisionlog.Event{asked(1, "Bash", `{"command":"x"}`, "deny", "git.force_push", shellFacts(true, "git push"))}, "", "0 0 0 0 0 0"},
		{"a danger", []decisionlog.Event{asked(1, "Bash", `{"command":"x"}`, "ask", "git.push", shellFacts(true, "git push")), answerOf(1, "allow", "allow")}, "", "1 1 0 0 1 0"},
		{"two parts", []decisionlog.Event{bash(1, "make x", "make y")}, "Bash(make x) Bash(make y)", "1 0 0 1 0 0"},
		{"not understood", []decisionlog.Event{asked(1, "Bash", `{"command":"x"}`, "ask", defaultRule, shellFacts(false, "make x"))}, "", "1 0 0 1 0 1"},
		{"covered", []decisionlog.Event{covered}, "", "1 0 0 1 0 1"},
		{"too old", []decisionlog.Event{old}, "", "0 0 0 0 0 0"},
		{"once for one call", []decisionlog.Event{bash(1, "make x"), bash(1, "make x")}, "Bash(make x)", "1 0 0 1 0 0"},
		{"three variants", []decisionlog.Event{bash(1, "npm run a"), bash(2, "npm run b"), bash(3, "npm run c"), bash(4, "npm run c")}, "Bash(npm run *)", "4 0 0 4 0 0"},
		{"two variants", []decisionlog.Event{bash(1, "npm run a"), bash(2, "npm run b")}, "Bash(npm run a) Bash(npm run b)", "2 0 0 2 0 0"},
		{"a runner is not widened", []decisionlog.Event{bash(1, "bash x a"), bash(2, "sudo b c"), bash(3, "python -m x y")}, "Bash(python -m x y) Bash(sudo b c)", "3 0 0 3 0 1"},
		{"quotes in a word", []decisionlog.Event{bash(1, "echo a;b")}, "", "1 0 0 1 0 1"},
		{"a host", []decisionlog.Event{asked(1, "WebFetch", `{"url":"https://Example.com/x"}`, "ask", defaultRule, "")}, "WebFetch(domain:example.com)", "1 0 0 1 0 0"},
		{"an odd host", []decisionlog.Event{asked(1, "WebFetch", `{"url":"https://u@example.com/x"}`, "ask", defaultRule, "")}, "", "1 0 0 1 0 1"},
		{"an MCP tool", []decisionlog.Event{asked(1, "mcp__a__b", `{}`, "ask", defaultRule, "")}, "mcp__a__b", "1 0 0 1 0 0"},
		{"an edit", []decisionlog.Event{asked(1, "Write", `{"file_path":"/p/a/b.md"}`, "ask", defaultRule, "")}, "Edit(/a/b.md)", "1 0 0 1 0 0"},
		{"an edit outside", []decisionlog.Event{asked(1, "Write", `{"file_path":"/q/b.md"}`, "ask", defaultRule, "")}, "", "1 0 0 1 0 1"},
		{"three edits", []decisionlog.Event{
			asked(1, "Write", `{"file_path":"/p/a/b.md"}`, "ask", defaultRule, ""), asked(2, "Edit", `{"file_path":"/p/a/c.md"}`, "ask", defaultRule, ""), asked(3, "Edit", `{"file_path":"/p/a/d.md"}`, "ask", defaultRule, ""),
		}, "Edit(/a/**)", "3 0 0 3 0 0"},
		{"another tool", []decisionlog.Event{asked(1, "Agent", `{}`, "ask", defaultRule, "")}, "", "1 0 0 1 0 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := &gathered{from: time.Now().Add(-time.Hour), questions: map[string]*auditedAsk{}, answers: map[string]string{}}
			for _, e := range test.events {
				g.add(e)
			}
			a := g.audit()
			var rules []string
			for _, p := range a.Proposals {
				rules = append(rules, p.Rule)
			}
			counts := fmt.Sprint(a.Asks, a.Allowed, a.Denied, a.Unknown, a.Dangers, a.Unfit)
			if got := strings.Join(rules, " "); got != test.rules || counts != test.counts {
				t.Errorf("proposed %q, counts %s; want %q, %s", got, counts, test.rules, test.counts)
			}
		})
	}
}

func TestProposedCommandsAreQuoted(t *testing.T) {
	g := &gathered{answers: map[string]string{}}
	row, err := parseDaily("git commit -m it's", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := g.proposal(row, nil).Command, `gatehouse policy allow 'git commit -m it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
