# Tools that live in this server's process run once their call has passed the
# gate: it was allowed, or somebody answered the question about it.
package gatehouse.inproc

decisions contains {"effect": "allow", "rule": "inproc.permitted"} if {
	input.permission_decision.effect in {"allow", "modify"}
}

decisions contains {"effect": "allow", "rule": "inproc.permitted"} if {
	input.permission_decision.effect == "ask"
	input.permission_decision.approver != ""
}
