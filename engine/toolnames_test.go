package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestToolWarnings(t *testing.T) {
	offered := []string{"Task", "Bash", "Read", "Novelty", "mcp__late__find"}
	server := func(name string) bool { return name == "docs" || name == "two__parts" }
	cases := []struct {
		name  string
		lists toolLists
		want  []string
	}{
		{"nothing given", toolLists{}, nil},
		{"names, patterns, aliases", toolLists{allowed: []string{"Bash(git push *)", "Read", "Agent(Explore)", "Task", "WebFetch(domain:a.b)"}}, nil},
		{"new in this CLI", toolLists{tools: []string{"Novelty"}}, nil},
		{"hidden from the init", toolLists{disallowed: []string{"WebSearch"}, tools: []string{"Glob"}}, nil},
		{"words of tools", toolLists{tools: []string{"default", ""}}, nil},
		{"default is a word of tools only", toolLists{allowed: []string{"default"}}, []string{`allowedTools: "default" is no tool of this session`}},
		{"forms", toolLists{disallowed: []string{"Elicitation"}}, nil},
		{"servers", toolLists{allowed: []string{"mcp__docs", "mcp__docs__search", "mcp__docs__*", "mcp__docs__s*", "mcp__two__parts__x", "mcp__late", "mcp__late__find", "mcp__late__*", "mcp__*", "*"}}, nil},
		{"unknown server", toolLists{allowed: []string{"mcp__dcos__search", "mcp__do", "mcp__none__*"}}, []string{
			`allowedTools: "mcp__dcos__search" is no tool of this session`, `allowedTools: "mcp__do" is no tool of this session`, `allowedTools: "mcp__none__*" is no tool of this session`,
		}},
		{"swapped letters", toolLists{allowed: []string{"Raed"}}, []string{`allowedTools: "Raed" is no tool of this session; did you mean "Read"?`}},
		{"case", toolLists{disallowed: []string{"bash(rm *)"}}, []string{`disallowedTools: "bash" is no tool of this session; did you mean "Bash"?`}},
		{"underscore", toolLists{tools: []string{"Web_Fetch"}}, []string{`tools: "Web_Fetch" is no tool of this session; did you mean "WebFetch"?`}},
		{"too far", toolLists{allowed: []string{"Zzz"}}, []string{`allowedTools: "Zzz" is no tool of this session`}},
		{"told once", toolLists{allowed: []string{"Zzz(a)", "Zzz(b)"}}, []string{`allowedTools: "Zzz" is no tool of this session`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.lists.warnings(offered, server); !slices.Equal(got, c.want) {
				t.Errorf("warnings = %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestToolWarningsAreBounded(t *testing.T) {
	var l toolLists
	for i := range maxToolWarnings + 5 {
		l.allowed = append(l.allowed, fmt.Sprintf("Unknown%03d", i))
	}
	got := l.warnings(nil, func(string) bool { return false })
	if len(got) != maxToolWarnings+1 || !strings.HasPrefix(got[maxToolWarnings], "5 further") {
		t.Errorf("%d warnings, the last %q", len(got), got[len(got)-1])
	}
}
