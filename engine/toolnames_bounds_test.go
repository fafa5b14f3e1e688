package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A list as long as validateLists lets through, against a CLI that has as many
// tools: what is told stays short, and so does the work.
func TestToolWarningsOfLongLists(t *testing.T) {
	var l toolLists
	var offered []string
	for i := range maxListEntries {
		l.allowed = append(l.allowed, fmt.Sprintf("Unknown%05d", i), fmt.Sprintf("mcp__no__t%d", i))
		offered = append(offered, fmt.Sprintf("mcp__docs__tool%d", i))
	}
	got := l.warnings(offered, func(string) bool { return false })
	if want := fmt.Sprintf("%d further names are no tools of this session", 2*maxListEntries-maxToolWarnings); len(got) != maxToolWarnings+1 || got[maxToolWarnings] != want {
		t.Errorf("%d warnings, the last %q, want %q", len(got), got[len(got)-1], want)
	}
}

// What is counted is names: a rule that is given twice, or for two patterns, is one.
func TestToolWarningsCountNamesOnce(t *testing.T) {
	var l toolLists
	for i := range maxToolWarnings + 2 {
		name := fmt.Sprintf("Unknown%03d", i)
		l.allowed = append(l.allowed, name, name+"(a)", name+"(b)")
	}
	got := l.warnings(nil, func(string) bool { return false })
	if last := got[len(got)-1]; !strings.HasPrefix(last, "2 further") {
		t.Errorf("the last warning is %q", last)
	}
}

func TestLongNamesAreNotCompared(t *testing.T) {
	long := strings.Repeat("x", longestSuggested)
	for _, c := range []struct {
		name, rule string
		known      string
		want       string
	}{
		{"as long as a suggestion gets", long + "(a)", "X" + long[1:], fmt.Sprintf("; did you mean %q?", "X"+long[1:])},
		{"a longer known name", long + "(a)", "X" + long, ""},
		{"a longer rule", "y" + long, long, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := toolLists{allowed: []string{c.rule}}.warnings([]string{c.known}, func(string) bool { return false })
			if len(got) != 1 || !strings.HasSuffix(got[0], "is no tool of this session"+c.want) {
				t.Errorf("warnings = %q", got)
			}
		})
	}
}

// Each "__" of a name could end a server's name.
func TestServersOfLongNamesAreNotLookedUp(t *testing.T) {
	asked := 0
	l := toolLists{allowed: []string{"mcp__" + strings.Repeat("_", 4*longestTool), "mcp__a__" + strings.Repeat("b", 4*longestTool)}}
	l.warnings(nil, func(string) bool { asked++; return false })
	if asked > 2*longestTool {
		t.Errorf("%d servers were looked up", asked)
	}
	exact := strings.Repeat("t", 4*longestTool)
	if got := (toolLists{tools: []string{exact}}).warnings([]string{exact}, nil); len(got) != 0 {
		t.Errorf("a tool with a long name is unknown: %q", got)
	}
}

func TestValidateLists(t *testing.T) {
	many := func(n int, text string) []string { return slices.Repeat([]string{text}, n) }
	for _, c := range []struct {
		name string
		p    StartParams
		want string // part of the error, "" for none
	}{
		{"none", StartParams{}, ""},
		{"as many as are taken", StartParams{AllowedTools: many(maxListEntries, "Bash(a)")}, ""},
		{"one more", StartParams{AllowedTools: many(maxListEntries+1, "A")}, "allowedTools: has 10001 entries, at most 10000"},
		{"as long as is taken", StartParams{DisallowedTools: []string{strings.Repeat("a", maxListBytes-1)}}, ""},
		{"one byte more", StartParams{DisallowedTools: []string{strings.Repeat("a", maxListBytes)}}, "disallowedTools: has 122881 bytes, at most 122880"},
		{"commas count", StartParams{Betas: many(2, strings.Repeat("b", maxListBytes/2))}, "betas: has 122882 bytes"},
		{"tools", StartParams{Tools: new(many(maxListEntries+1, "A"))}, "tools: has 10001 entries"},
		{"folders", StartParams{AdditionalDirs: many(maxListEntries+1, "a")}, "additionalDirectories: has 10001 entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.Prompt = "hello"
			err := c.p.validate()
			if c.want == "" && err == nil {
				return
			}
			if err == nil || CodeOf(err) != InvalidArgument || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
