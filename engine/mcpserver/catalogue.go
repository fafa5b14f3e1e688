package mcpserver

// toolView is one entry of availableTools.
type toolView struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// catalogue describes the CLI's own tools in a line each. It is help for
// people who write allowedTools; a tool that is not here is known by its name.
var catalogue = map[string]string{
	"Agent":            "Delegate a task to a sub-agent",
	"AskUserQuestion":  "Ask the user a question with options",
	"Bash":             "Run a shell command",
	"BashOutput":       "Read the output of a background command",
	"Edit":             "Replace text in a file",
	"EnterPlanMode":    "Plan before changing anything",
	"ExitPlanMode":     "Present a plan for approval",
	"Glob":             "Find files by name pattern",
	"Grep":             "Search file contents",
	"KillShell":        "End a background command",
	"ListMcpResources": "List resources of MCP servers",
	"MultiEdit":        "Make several edits in one file",
	"NotebookEdit":     "Edit a notebook cell",
	"Read":             "Read a file",
	"ReadMcpResource":  "Read a resource of an MCP server",
	"Skill":            "Run a skill",
	"StructuredOutput": "Return the result in the requested format",
	"Task":             "Delegate a task to a sub-agent (called Agent in questions)",
	"TaskOutput":       "Read the output of a background task",
	"TaskStop":         "End a background task",
	"TodoWrite":        "Keep a task list",
	"ToolSearch":       "Find further tools",
	"WebFetch":         "Fetch a web page",
	"WebSearch":        "Search the web",
	"Write":            "Write a file",
}

// describeTools is nil, so absent from the answer, before the CLI's init.
func describeTools(names []string) []toolView {
	if names == nil {
		return nil
	}
	views := make([]toolView, len(names))
	for i, name := range names {
		views[i] = toolView{name, name}
		if d, ok := catalogue[name]; ok {
			views[i].Description = d
		}
	}
	return views
}
