package gatehouse.permission_test

of_paths contains [call(tool, {"paths": [path(changes)]}), want] if {
	some [tool, changes, want] in [
		["Read", {}, "allow:reads.inside"],
		["Read", {"flags": ["home", "tilde"]}, "allow:reads.inside"],
		["Glob", {"glob": {"pattern": "**/*.go", "matches_protected": false, "matches": [], "protected": "", "truncated": false}}, "allow:reads.inside"],
		["Read", {"protected": true, "protected_by": "env_file"}, "deny:paths.protected"],
		["Read", {"hardlink": true}, "deny:paths.protected"],
		["Bash", {"glob": {"pattern": "*", "matches_protected": true, "matches": [], "protected": "", "truncated": false}, "resolved": false}, "deny:paths.protected"],
		["Write", {"mode": "write", "inside": false}, "deny:paths.write_outside"],
		["Bash", {"raw": "/dev/tcp/h/1", "inside": false}, "deny:egress.raw"],
		["Read", {"resolved": false, "inside": false}, "ask:paths.unresolved"],
		["Bash", {"mode": "write", "resolved": false, "inside": false}, "ask:paths.write_unresolved"],
		["Read", {"inside": false, "exists": false}, "ask:paths.read_outside"],
		["Bash", {"inside": false}, "ask:paths.read_outside"],
		["Bash", {"inside": false, "resolved": false, "glob": {"pattern": "../*", "matches_protected": false, "matches": [], "protected": "", "truncated": true}}, "ask:paths.read_outside"],
		["Read", {"sensitive": true, "sensitive_by": "key_file"}, "ask:paths.sensitive"],
		["Edit", {"mode": "write", "sensitive": true, "sensitive_by": "agent_instructions"}, "ask:paths.sensitive"],
		["Read", {"flags": ["mixed_script"]}, "ask:paths.look_alike"],
		["Write", {"mode": "write", "protected": true, "protected_by": "cli_settings"}, "deny:paths.protected"],
	]
}

met(program, glob) := rules(shell(static_not(command(program, [pattern("*", glob)]))))

test_patterns_that_meet_secrets if {
	secret := {"matches_protected": true, "protected": "/w/.env"}
	"deny:paths.protected" in met("cat", secret)
	every program in ["ls", "du", "wc", "stat"] {
		"ask:paths.names" in met(program, secret)
		not "deny:paths.protected" in met(program, secret)
	}
	not "ask:paths.names" in met("ls", {})
	met_names := {d.reason | some d in decisions(shell(static_not(command("cat", [pattern("*", secret)])))); d.rule == "paths.protected"}
	met_names == {"the pattern * meets .env ()"}
	unseen := {d.reason | some d in decisions(shell(static_not(command("cat", [pattern("*", {"matches_protected": true})])))); d.rule == "paths.protected"}
	unseen == {"the pattern * meets what may be a secret file"}
}

reasons_of(changes) := {d.reason | some d in decisions(call("Read", {"paths": [path(changes)]})); d.rule in {"paths.unresolved", "paths.look_alike"}}

test_reasons_of_odd_paths if {
	reasons_of({"raw": "", "resolved": false, "inside": false}) == {"the call names no path, or not by a text"}
	reasons_of({"flags": ["control"]}) == {"p holds a control character, such as a new line, a tab or a NUL"}
	reasons_of({"flags": ["invisible"]}) == {"p holds characters nobody sees"}
}

test_the_null_device if {
	null_device := {"raw": "/dev/null", "abs": "/dev/null", "inside": false}
	every mode in ["read", "write"] {
		met := rules(call("Bash", {"paths": [path(object.union(null_device, {"mode": mode}))]}))
		met & {"ask:paths.read_outside", "deny:paths.write_outside", "context:flow.private"} == set()
	}
}

test_paths if fails(of_paths) == set()

test_paths_tell_the_model if told(of_paths) == set()

test_words_that_lead_nowhere_are_no_reads if {
	not "ask:paths.read_outside" in rules(call("Bash", {"paths": [path({"inside": false, "exists": false})]}))
}

test_one_path_outside_is_enough if {
	not "allow:reads.inside" in rules(call("Grep", {"paths": [path({}), path({"inside": false})]}))
	not "allow:reads.inside" in rules(call("Read", {"paths": []}))
	not "allow:reads.inside" in rules(call("Read", {"paths": [path({"flags": ["device"]})]}))
}

# Profile none knows the gate's own files only; the others' rule of that name
# would hide it, so the reason is looked at.
test_none_guards_the_gate if {
	own := {d.reason | some d in decisions(call("Write", {"paths": [path({"mode": "write", "hardlink": true})]})); contains(d.agent_message, "not written from one")}
	count(own) == 1
	gate := {d.reason | some d in decisions(call("Write", {"paths": [path({"mode": "write", "protected": true, "protected_by": "gatehouse"})]})); contains(d.agent_message, "not written from one")}
	count(gate) == 1
	secret := {d.reason | some d in decisions(call("Write", {"paths": [path({"mode": "write", "protected": true, "protected_by": "env_file"})]})); contains(d.agent_message, "not written from one")}
	count(secret) == 0
}

test_private_reads_are_remembered if {
	every changes in [{"inside": false}, {"sensitive": true, "sensitive_by": "key_file"}] {
		{"read": "private"} in {d.labels | some d in decisions(call("Read", {"paths": [path(changes)]})); d.labels}
	}
	not "context:flow.private" in rules(call("Read", {"paths": [path({"inside": false, "exists": false})]}))
	not "context:flow.private" in rules(call("Read", {"paths": [path({"inside": false, "protected": true, "protected_by": "ssh"})]}))
	not "context:flow.private" in rules(call("Read", {"paths": [path({})]}))
}

after_private(doc) := object.union(doc, {"history": {"taint": ["read:private"]}, "allowed_by_caller": {"matched": true, "specific": true, "rule": "r"}})

test_nothing_private_leaves_unasked if {
	every doc in [
		call("WebFetch", {}), call("WebSearch", {}), call("mcp__a__b", {"tool": {"kind": "mcp", "server": "a"}}),
		words("curl", ["h"]), words("gh", ["pr", "list"]), raw("eval x"),
		shell(object.union(git("fetch", []), {"git": {"network": true}})),
	] {
		"ask:flow.network" in rules(after_private(doc))
		not "ask:flow.network" in rules(object.union(doc, {"allowed_by_caller": {"matched": true, "specific": true, "rule": "r"}}))
	}
	not "ask:flow.network" in rules(after_private(words("ls", [])))
	not "ask:flow.network" in rules(after_private(shell(git("status", []))))
	not "ask:flow.network" in rules(after_private(call("Read", {})))
}
