# In plan mode nothing is changed.
package gatehouse.permission

decisions contains {
	"effect": "ask", "rule": "plan.write", "severity": "low",
	"reason": "the session is in plan mode, in which nothing is changed",
	"agent_message": "Finish the plan and hand it over with ExitPlanMode; edits come after it is accepted.",
} if {
	input.session.mode == "plan"
	input.tool.name in {"Edit", "MultiEdit", "NotebookEdit", "Write"}
}
