# What the caller of a session said with allowedTools and disallowedTools.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "caller.disallowed", "severity": "high",
	"reason": sprintf("disallowedTools of this session names %s", [short(input.disallowed_by_caller.rule)]),
	"agent_message": "This is disallowed in this session, however it is spelt. Do not try it again; use another tool or say what is needed.",
} if {
	input.disallowed_by_caller.matched == true
}

# A danger is answered by a rule that names it, such as Bash(git push *); the
# bare name of a tool says nothing about dangers.
satisfied if input.allowed_by_caller.specific

# short keeps a name within what a reason may hold.
short(text) := substring(text, 0, 100)
