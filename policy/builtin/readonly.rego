# Profile readonly: nothing is changed, whatever the caller allows.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "readonly.write", "severity": "medium",
	"reason": sprintf("%s changes files, and this profile only reads", [short(input.tool.name)]),
	"agent_message": "Only read; report what you would change.",
} if {
	input.tool.name in editors
}

decisions contains {
	"effect": "deny", "rule": "readonly.shell", "severity": "medium",
	"reason": "this profile runs only shell commands that are known to read",
	"agent_message": "Only read; report what you would run.",
} if {
	input.tool.name == "Bash"
	not shell_reads
}
