# Answers to a question of the gate.
package gatehouse.admission

decisions contains {
	"effect": "deny", "rule": "admission.approver", "severity": "critical",
	"reason": never(sprintf("an answer of %q where a person has to answer", [short(input.approval.approver)]), "admission.approver", "answer it at the terminal"),
} if {
	input.action == "answer"
	input.approval.effect != "deny"
	input.approval.required != ""
	input.approval.approver != input.approval.required
}

decisions contains {
	"effect": "deny", "rule": "admission.effect", "severity": "high",
	"reason": never("another answer than allow or deny", "admission.effect", "give decision allow or deny"),
} if {
	input.action == "answer"
	not input.approval.effect in {"allow", "deny"}
}

decisions contains {
	"effect": "deny", "rule": "admission.updates", "severity": "critical",
	"reason": never("updatedPermissions of this kind", "admission.updates", "they may hold addRules, or setMode to default or plan, with destination session; leave the others out"),
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
