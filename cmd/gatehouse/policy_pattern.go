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
	for _, text := range []string{r.Tool, r.Pattern, r.Reason, r.Folder} {
		if len(text) > maxDailyText || !utf8.ValidString(text) || strings.ContainsFunc(text, invisible) {
			return fmt.Errorf("rule %s: wants plain text of at most %d bytes, without control or invisible characters", escapeControl(shorten(r.String(), 60)), maxDailyText)
		}
	}
	switch {
	case !dailyTool.MatchString(r.Tool):
		return fmt.Errorf("rule %q: %q is no tool's name", r, r.Tool)
	case strings.HasSuffix(r.Tool, "*") && !strings.HasPrefix(r.Tool, "mcp__"):
		return fmt.Errorf("rule %q: only names of MCP tools may end in a star", r)
	case r.Pattern == "" || slices.Contains(commandTools, r.Tool) || slices.Contains(namedTools, r.Tool):
		return nil
	case r.Tool == "WebFetch":
		return r.checkDomain()
	case slices.Contains(fileTools, r.Tool):
		return r.checkFiles()
	}
	return fmt.Errorf("rule %q: tool %s takes no pattern here; write the bare name, or a policy in Rego", r, r.Tool)
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

// matchesNothing says why an allow can never count; empty when it can.
func (r dailyRow) matchesNothing() string {
	if r.Tool == "Bash" && strings.ContainsAny(r.Pattern, "\"'`$;&|<>()[?\\") {
		return "a rule names one command, with its words as the program gets them: without quotes, ; && | > $ ? or brackets; write one rule for each command"
	}
	return ""
}

// runners start what their arguments say, so a star behind their name stands
// for every program there is.
var runners = strings.Fields(`ash awk bash bun busybox cmd csh dash deno doas docker env eval exec expect fish gawk
find ksh kubectl lua nice node nodejs nohup npx osascript parallel perl php pkexec podman powershell pwsh python python2
python3 ruby runuser screen script sed setsid sh ssh stdbuf su sudo tclsh time timeout tmux uvx watch xargs zsh`)

// tooWide says why an allow lets through more than anybody can mean; empty when
// it does not.
func (r dailyRow) tooWide() string {
	switch {
	case r.Pattern == "" && slices.Contains([]string{"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "WebFetch"}, r.Tool):
		return fmt.Sprintf("it names no pattern, so it lets every call of %s through", r.Tool)
	case r.Pattern == "" && strings.HasSuffix(r.Tool, "*") && strings.Count(r.Tool, "__") < 2:
		return "it lets every tool of every server of that name through"
	case slices.Contains(fileTools, r.Tool) && r.Pattern != "" && strings.Trim(r.Pattern, "*/.") == "":
		return "it names every file"
	case r.Tool == "Bash":
		return wideCommand(r.Pattern)
	}
	return ""
}

func wideCommand(pattern string) string {
	fixed, _, starred := strings.Cut(strings.Replace(pattern, ":*", " *", 1), "*")
	words := strings.Fields(fixed)
	if !starred {
		return ""
	}
	closed := len(words) > 1 || strings.HasSuffix(fixed, " ")
	switch {
	case len(words) == 0:
		return "it names no program, so it lets every command through"
	case !closed:
		return fmt.Sprintf("its star stands in the program's name: %s also means other programs; write %q", pattern, words[0]+" *")
	case !slices.Contains(runners, strings.ToLower(lastSegment(words[0]))):
		return ""
	}
	// the word that says what is run has to be there whole
	script := len(words) > 1 && !strings.HasPrefix(words[1], "-") && (len(words) > 2 || strings.HasSuffix(fixed, " "))
	if script {
		return ""
	}
	return fmt.Sprintf("%s runs whatever its arguments say, so it lets every program through; name the script or sub-command whole", words[0])
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
