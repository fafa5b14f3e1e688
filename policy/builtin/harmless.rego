# Tools that only keep the model's own books, and those that are questions.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "tools.harmless"} if {
	input.tool.name in {
		"CronList", "EnterPlanMode", "ListAgents", "StructuredOutput", "TaskCreate", "TaskGet",
		"TaskList", "TaskOutput", "TaskUpdate", "TodoWrite", "ToolSearch",
	}
}

decisions contains {
	"effect": "ask", "rule": "tools.question", "severity": "info",
	"reason": "the model asks you something",
	"agent_message": "Nobody answered. Go on with what is known, and say what you assumed.",
} if {
	input.tool.name in {"AskUserQuestion", "ExitPlanMode"}
}
