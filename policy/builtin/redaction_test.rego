package gatehouse.redaction_test

to(sink) := {"sink": {"kind": sink}, "event": {"type": "tool_result"}}

rules(sink) := {e.rule | some e in data.gatehouse.redaction.plan with input as to(sink)}

test_records_are_searched_by_context if {
	every sink in ["event", "audit", "log", "stderr", "plugin"] {
		rules(sink) == {"records.context"}
	}
}

test_what_the_model_reads_is_not if {
	rules("model") == set()
}

test_the_edit_is_about_every_text if {
	some e in data.gatehouse.redaction.plan with input as to("log")
	e.action == "redact"
	e.detectors == ["context"]
	not "select" in object.keys(e)
}
