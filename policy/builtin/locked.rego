# Profile locked: reading inside the workspace and nothing else. Whatever no
# rule allows is denied by the engine, as the default effect is deny here.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "locked.tool", "severity": "medium",
	"reason": sprintf("profile locked reads the workspace only; %s is more", [short(input.tool.name)]),
} if {
	not input.tool.name in readers
	not input.tool.name in {"StructuredOutput", "TodoWrite"}
}

decisions contains {
	"effect": "deny", "rule": "locked.outside", "severity": "medium",
	"reason": "profile locked reads plain files of the workspace only",
} if {
	input.tool.name in readers
	not paths_plain
}
