package gatehouse.inproc_test

permits(effect, approver) if {
	some d in data.gatehouse.inproc.decisions with input as {"permission_decision": {"effect": effect, "rule": "r", "approver": approver}}
	d.effect == "allow"
	d.rule == "inproc.permitted"
}

test_what_passed_the_gate_runs if {
	permits("allow", "")
	permits("modify", "")
	permits("ask", "human")
	not permits("ask", "")
	not permits("deny", "human")
	not permits("abstain", "")
	not permits("halt", "")
}
