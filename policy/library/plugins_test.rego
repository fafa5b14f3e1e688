package gatehouse.plugins_test

import data.gatehouse.plugins

said := {"plugins": {
	"good": {"ok": true, "error": "", "annotations": {"risk": "high", "safe": false, "none": null}},
	"failed": {"ok": false, "error": "stopped after 200ms", "annotations": {"risk": "low"}},
	"odd": {"ok": true, "error": "two plugins have this name", "annotations": {"risk": "low"}},
	"bare": {},
}}

test_ok if plugins.plugin_ok("good") with input as said

test_not_ok[name] if {
	some name in ["failed", "odd", "bare", "missing", "", null, 7]
	plugins.plugin_ok(name) == false with input as said
}

test_not_ok_without_plugins[name] if {
	some name, document in {"none": {"plugins": {}}, "other document": {"sink": {}}, "no document": null}
	plugins.plugin_ok("good") == false with input as document
}

test_annotation if {
	plugins.plugin_annotation("good", "risk", "?") == "high" with input as said
	plugins.plugin_annotation("good", "safe", true) == false with input as said
	plugins.plugin_annotation("good", "none", 1) == null with input as said
}

test_fallback[name] if {
	some name in ["failed", "odd", "bare", "missing"]
	plugins.plugin_annotation(name, "risk", "?") == "?" with input as said
}

test_fallback_for_another_key if plugins.plugin_annotation("good", "missing", []) == [] with input as said

# The trap that the helpers are for: a negation holds where the plugin is not there.
test_trap if {
	not input.plugins.missing.error with input as said
	not input.plugins.missing.verdict == "deny" with input as said
	not plugins.plugin_ok("missing") with input as said
}
