# Profile readonly: nothing is changed, whatever the caller allows.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "readonly.write", "severity": "medium",
	"reason": sprintf("%s changes files, and this profile only reads", [short(input.tool.name)]),
	"agent_message": "Only read; report what you would change.",
} if {
	input.tool.name in {"Edit", "MultiEdit", "NotebookEdit", "Write"}
}

decisions contains {
	"effect": "deny", "rule": "readonly.shell", "severity": "medium",
	"reason": "this profile runs only shell commands that are known to read",
	"agent_message": "Only read, with ls, cat, head, tail, wc, grep, find and git status, log or diff --stat on plain paths, or with the Read, Glob and Grep tools; report what you would run.",
} if {
	input.tool.name == "Bash"
	not shell_reads
}
