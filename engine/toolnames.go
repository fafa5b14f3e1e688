package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
)

// A misspelt tool name in a list does nothing, and nobody would notice. So the
// lists are compared with what the CLI says it has, once, at its first init.

// ownTools are the CLI's own tools, whether or not a session shows them: an init
// leaves out what disallowedTools or tools hides (CLI 2.1.197 and before).
var ownTools = []string{
	"Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode",
	"EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "LS", "LSP", "ListAgents",
	"ListMcpResources", "ListMcpResourcesTool", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "ReadMcpResource",
	"ReadMcpResourceTool", "ReportFindings", "ScheduleWakeup", "SendMessage", "Skill", "SlashCommand", "StructuredOutput",
	"Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite",
	"ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write", formTool,
}

// Bounds of what is told of the names, and of the work for it: it is done before
// the session's init is announced.
const (
	maxToolWarnings  = 20   // a session; the last one says how many more there are
	longestTool      = 200  // bytes of a name that is looked at more closely than for an equal one
	longestSuggested = 128  // bytes of a name that is compared letter by letter
	maxCompared      = 1000 // known names a name is compared with
)

// toolLists are the lists of a session that name tools, as callers wrote them.
type toolLists struct {
	allowed, disallowed, tools []string
}

// warnings says which names are no tools. offered are the tools of the CLI's
// init, server reports whether a name as it stands behind "mcp__" is an MCP
// server of the session.
func (l toolLists) warnings(offered []string, server func(name string) bool) []string {
	known := newToolNames(offered)
	var out []string
	more := 0
	for _, list := range []struct {
		name  string
		rules []string
	}{{"allowedTools", l.allowed}, {"disallowedTools", l.disallowed}, {"tools", l.tools}} {
		seen := make(map[string]bool) // at most validateLists' bound
		for _, rule := range list.rules {
			tool, _, _ := strings.Cut(rule, "(")
			tool = strings.TrimSpace(tool)
			if seen[tool] || list.name == "tools" && tool == "default" || known.has(tool, server) {
				continue
			}
			seen[tool] = true
			if len(out) == maxToolWarnings {
				more++
				continue
			}
			out = append(out, fmt.Sprintf("%s: %q is no tool of this session%s", list.name, clip(tool), known.nearest(tool)))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d further names are no tools of this session", more))
	}
	return out
}

// toolNames are the names of a session's tools and of the CLI's own.
type toolNames struct {
	sorted     []string
	suggested  []string // those that are compared with a misspelt one
	lowerCased []string // the same
}

func newToolNames(offered []string) toolNames {
	var n toolNames
	for _, name := range slices.Concat(ownTools, offered) {
		if len(n.suggested) < maxCompared && len(name) <= longestSuggested {
			n.suggested, n.lowerCased = append(n.suggested, name), append(n.lowerCased, strings.ToLower(name))
		}
	}
	n.sorted = slices.Concat(ownTools, offered)
	slices.Sort(n.sorted)
	return n
}

// begins reports whether a name begins with prefix.
func (n toolNames) begins(prefix string) bool {
	i, _ := slices.BinarySearch(n.sorted, prefix)
	return i < len(n.sorted) && strings.HasPrefix(n.sorted[i], prefix)
}

// has takes exact names, mcp__server, mcp__server__tool, and a star at the end.
func (n toolNames) has(name string, server func(string) bool) bool {
	if name == "" || name == "*" {
		return true
	}
	if _, ok := slices.BinarySearch(n.sorted, name); ok || len(name) > longestTool {
		return ok
	}
	prefix, starred := strings.CutSuffix(name, "*")
	rest, mcp := strings.CutPrefix(prefix, "mcp__")
	switch {
	case !mcp:
		return starred && n.begins(prefix)
	case starred && (rest == "" || n.begins(prefix)), n.begins(name + "__"):
		return true
	}
	for i := 0; i <= len(rest); i++ { // a server's name can hold "__" itself
		if (i == len(rest) || strings.HasPrefix(rest[i:], "__")) && server(rest[:i]) {
			return true
		}
	}
	return false
}

// nearest suggests the known name that is at most a third of its letters away.
func (n toolNames) nearest(name string) string {
	if len(name) > longestSuggested {
		return ""
	}
	best, least := "", max(len(name)/3, 1)+1
	lower := strings.ToLower(name)
	for i, k := range n.lowerCased {
		if d := spelling.Distance(lower, k); d < least {
			best, least = n.suggested[i], d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// warnTools tells, at the first init, which names of the caller's lists are no tools.
func (s *Session) warnTools(f frameSystem) {
	lists := toolLists{allowed: s.params.AllowedTools, disallowed: s.params.DisallowedTools}
	if s.params.Tools != nil {
		lists.tools = *s.params.Tools
	}
	servers := make(map[string]bool)
	for _, server := range f.McpServers {
		servers[toolPart(server.Name)] = true
	}
	for name := range membersOf(s.params.McpServers) {
		servers[toolPart(name)] = true
	}
	warnings := lists.warnings(f.Tools, func(name string) bool { return servers[name] })
	if len(warnings) == 0 {
		return
	}
	for i, w := range warnings {
		warnings[i] = s.redactText(event.SinkEvent, w)
		s.warn(warnings[i])
	}
	s.notice("unknown_tools", "some names in the lists of tools are no tools of this session, so they do nothing", map[string]any{"warnings": warnings})
}
