# Answers to a question of the gate.
package gatehouse.admission

decisions contains {
	"effect": "deny", "rule": "admission.approver", "severity": "critical",
	"reason": sprintf("this question wants a person's answer (rule admission.approver), %q is none: answer it at the terminal", [short(input.approval.approver)]),
} if {
	input.action == "answer"
	input.approval.effect != "deny"
	input.approval.required != ""
	input.approval.approver != input.approval.required
}

decisions contains {
	"effect": "deny", "rule": "admission.effect", "severity": "high",
	"reason": "an answer is allow or deny (rule admission.effect)",
} if {
	input.action == "answer"
	not input.approval.effect in {"allow", "deny"}
}

decisions contains {
	"effect": "deny", "rule": "admission.updates", "severity": "critical",
	"reason": "updatedPermissions may hold addRules, or setMode to default or plan, with destination session (rule admission.updates); leave the others out",
} if {
	some update in input.approval.permission_updates
	not update_harmless(update)
}

update_harmless(u) if {
	u.destination == "session"
	u.type == "addRules"
}

update_harmless(u) if {
	u.destination == "session"
	u.type == "setMode"
	u.mode in {"default", "plan"}
}
