# What is covered beside the vendor formats and the configured detectors, which
# are covered everywhere whatever is said here. Profiles ci and locked run where
# nobody looks on, so what they write down is also searched for secrets that only
# their surroundings tell, such as password = "…". What the model reads is not:
# it would find placeholders where a file has an example.
package gatehouse.redaction

plan contains {
	"action": "redact", "rule": "records.context", "detectors": ["context"],
	"reason": "what this profile writes down is also searched for secrets by their surroundings",
} if {
	input.sink.kind in {"event", "audit", "log", "stderr", "plugin"}
}
