# Profile locked: reading inside the workspace and nothing else. Whatever no
# rule allows is denied by the engine, as the default effect is deny here.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "locked.tool", "severity": "medium",
	"reason": sprintf("profile locked reads the workspace only; %s is more", [short(input.tool.name)]),
	"agent_message": "Only Read, Glob, Grep and LS inside the workspace are allowed. Report what you would do with other tools.",
} if {
	not input.tool.name in readers
	not input.tool.name in {"StructuredOutput", "TodoWrite"}
}

decisions contains {
	"effect": "deny", "rule": "locked.outside", "severity": "medium",
	"reason": "profile locked reads plain files of the workspace only",
	"agent_message": "Read plain files inside the workspace, by their own paths.",
} if {
	input.tool.name in {"Glob", "Grep", "LS", "NotebookRead", "Read"}
	input.paths_plain == false
}
