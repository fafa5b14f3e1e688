package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// dailyTool is what a tool's name in a rule may look like.
var dailyTool = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}(\*)?$`)

// The tools whose patterns are known besides those for files.
var (
	commandTools = []string{"Bash"}
	namedTools   = []string{"Agent", "Skill"}
	fileTools    = []string{"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Grep", "Glob", "LS"}
)

// parseDaily reads a rule as it is given on the command line or in Claude's
// settings: Tool(pattern), a tool's bare name, or a command alone where tool
// says whose pattern it is.
func parseDaily(text, tool string) (dailyRow, error) {
	text = strings.TrimSpace(text)
	row := dailyRow{Tool: tool, Pattern: text}
	name, rest, found := strings.Cut(text, "(")
	switch {
	case tool == "" && found && strings.HasSuffix(rest, ")") && dailyTool.MatchString(name):
		row.Tool, row.Pattern = name, strings.TrimSpace(strings.TrimSuffix(rest, ")"))
	case tool == "" && (knownTool(text) || strings.HasPrefix(text, "mcp__")):
		row.Tool, row.Pattern = text, ""
	case tool == "":
		row.Tool = "Bash"
	}
	if row.Tool == "Task" {
		row.Tool = "Agent"
	}
	if row.Pattern == "*" { // as in the CLI, the same as none
		row.Pattern = ""
	}
	return row, row.check()
}

func knownTool(name string) bool {
	return slices.Contains(commandTools, name) || slices.Contains(namedTools, name) || slices.Contains(fileTools, name) ||
		name == "Task" || name == "WebFetch" || name == "WebSearch" || facts.Known(name)
}

// check refuses what daily.rego would not understand.
func (r dailyRow) check() error {
	if err := r.plain(r.Tool, r.Pattern, r.Reason, r.Folder); err != nil {
		return err
	}
	if r.Tool == "Bash" && repeatsTool.MatchString(r.Pattern) {
		return fmt.Errorf("rule %q: the pattern repeats the tool; write what stands in the brackets", r)
	}
	return r.meaning()
}

func (r dailyRow) plain(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxDailyText || !utf8.ValidString(text) || strings.ContainsFunc(text, invisible) {
			return fmt.Errorf("rule %s: wants plain text of at most %d bytes, without control or invisible characters", escapeControl(shorten(r.String(), 60)), maxDailyText)
		}
	}
	return nil
}

// meaning refuses what would never be met.
func (r dailyRow) meaning() error {
	if err := r.checkTool(); err != nil {
		return err
	}
	if err := r.checkFolder(); err != nil {
		return err
	}
	switch {
	case r.Pattern == "" || slices.Contains(commandTools, r.Tool) || slices.Contains(namedTools, r.Tool):
		return nil
	case r.Tool == "WebFetch":
		return r.checkDomain()
	case slices.Contains(fileTools, r.Tool):
		return r.checkFiles()
	}
	return fmt.Errorf("rule %q: tool %s takes no pattern here; write the bare name, or a policy in Rego", r, r.Tool)
}

// toolForm is what a tool is called in a row: MCP tools may end in a star.
var toolForm = regexp.MustCompile(`^([A-Z][A-Za-z0-9_-]{0,127}|mcp__[A-Za-z0-9_-]{1,120}|mcp__[A-Za-z0-9_-]{0,120}\*)$`)

// wholeServer is a name with a star that an allow may have.
var wholeServer = regexp.MustCompile(`^mcp__.+__[^*]*\*$`)

func (r dailyRow) checkTool() error {
	for _, name := range slices.Concat(commandTools, namedTools, fileTools, []string{"WebFetch", "WebSearch"}) {
		if strings.EqualFold(name, r.Tool) && name != r.Tool {
			return fmt.Errorf("rule %q: the tool is spelt %s", r, name)
		}
	}
	starred := strings.HasSuffix(r.Tool, "*")
	switch {
	case starred && !strings.HasPrefix(r.Tool, "mcp__") && dailyTool.MatchString(r.Tool):
		return fmt.Errorf("rule %q: only names of MCP tools may end in a star", r)
	case !toolForm.MatchString(r.Tool):
		return fmt.Errorf("rule %q: %q is no tool's name", r, r.Tool)
	case r.Effect == "allow" && starred && !wholeServer.MatchString(r.Tool):
		return fmt.Errorf("rule %q: an allow has to name the server whole, as in mcp__server__*", r)
	}
	return nil
}

func invisible(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

func (r dailyRow) checkDomain() error {
	domain, ok := strings.CutPrefix(r.Pattern, "domain:")
	if rest := strings.TrimPrefix(domain, "*."); !ok || rest == "" || strings.ContainsAny(rest, "*/: ") {
		return fmt.Errorf("rule %q: want WebFetch(domain:example.com) or WebFetch(domain:*.example.com)", r)
	}
	return nil
}

func (r dailyRow) checkFiles() error {
	switch {
	case strings.ContainsAny(r.Pattern, "[]{}\\!"):
		return fmt.Errorf("rule %q: a pattern for files knows *, ** and ? only; write one row for each", r)
	case strings.HasPrefix(r.Pattern, "~"):
		return fmt.Errorf("rule %q: write the home folder out, as in %s(//home/me/x): policies do not know it", r, r.Tool)
	case slices.Contains(strings.Split(r.Pattern, "/"), ".."):
		return fmt.Errorf("rule %q: .. leads nowhere in a pattern; write //absolute/path", r)
	}
	return nil
}

// expandHome writes a leading ~ out as an absolute pattern.
func (r dailyRow) expandHome(home string) dailyRow {
	if rest, ok := strings.CutPrefix(r.Pattern, "~/"); ok && home != "" && slices.Contains(fileTools, r.Tool) {
		r.Pattern = "/" + strings.TrimSuffix(home, "/") + "/" + rest
	}
	return r
}

// tooWide says why an allow lets through more than anybody can mean; empty when
// it does not.
func (r dailyRow) tooWide() string {
	switch {
	case r.Pattern == "" && slices.Contains([]string{"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "WebFetch"}, r.Tool):
		return fmt.Sprintf("it names no pattern, so it lets every call of %s through", r.Tool)
	case r.Pattern == "" && strings.HasSuffix(r.Tool, "*") && strings.Count(r.Tool, "__") < 2:
		return "it lets every tool of every server of that name through"
	case r.Tool == "WebFetch" && strings.HasPrefix(r.Pattern, "domain:*.") && !strings.Contains(strings.TrimSuffix(strings.TrimPrefix(r.Pattern, "domain:*."), "."), "."):
		return "everybody may have a host below that, so it lets nearly every address through"
	case slices.Contains(fileTools, r.Tool) && r.Pattern != "" && strings.Trim(r.Pattern, "*/.") == "":
		return "it names every file"
	case r.Tool == "Bash":
		return wideCommand(r.Pattern)
	}
	return ""
}
