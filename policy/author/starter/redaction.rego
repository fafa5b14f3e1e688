# What is covered before an event is stored, logged or read by the model, beside
# the formats of vendors, which always are (gatehouse redact --list). A rule adds
# an edit to the set plan; nothing takes a cover away. input says what sort of
# payload it is, never what it holds.
package gatehouse.redaction

# Values of members by their names, in what a customer database gives back.
plan contains {
	"action": "mask_json_key", "keys": ["email", "phone"], "rule": "team.customers",
	"select": {"tools": ["mcp__crm__*"]},
}

# Ids that are told apart but not read, everywhere: see redaction.detectors in
# data.toml.
plan contains {"action": "hash", "detectors": ["ticket"], "rule": "team.tickets"}

# The history keeps the beginning of long outputs; the model reads all of them.
plan contains {
	"action": "truncate", "max_bytes": 65536, "rule": "team.history",
	"select": {"blocks": ["tool_result"]},
} if {
	input.sink.kind == "event"
}
