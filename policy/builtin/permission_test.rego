package gatehouse.permission_test

# A call with every field, to be changed by the tests.
call(tool, changes) := object.union(
	{
		"schema": "permission/v1", "profile": "dev", "door": "can_use_tool", "title": "",
		"tool": {"name": tool, "kind": "builtin", "server": "", "use_id": "t", "input": {"command": ""}},
		"session": {"id": "s", "cwd": "/w", "roots": ["/w"], "additional_dirs": [], "mode": "default", "trusted": false, "model": "", "turn": 1, "allowed_tools": [], "disallowed_tools": []},
		"agent": {"id": ""}, "budget": {"usd": 0, "usd_limit": 1, "turns_limit": 0, "tool_calls": 0},
		"history": {"denies": 0, "asks": 0}, "paths": [], "paths_known": true,
		"bash": {"ok": tool != "Bash", "reason": "", "commands": [], "features": {}},
		"url": {"scheme": "", "host": "", "port": ""},
		"allowed_by_caller": {"matched": false, "rule": "", "specific": false},
		"disallowed_by_caller": {"matched": false, "rule": "", "specific": false},
	},
	changes,
)

path(changes) := object.union(
	{"arg": "", "raw": "p", "abs": "/w/p", "real": "/w/p", "inside": true, "root": "/w", "resolved": true, "exists": true, "symlink": false, "mode": "read", "protected": false, "protected_by": "", "sensitive": false, "sensitive_by": "", "is_root": false},
	changes,
)

nowhere := path({"raw": "", "inside": false, "resolved": false})

word(value) := {"value": value, "static": true, "path": null}

file(value, changes) := {"value": value, "static": true, "path": path(object.union({"raw": value}, changes))}

command(name, args) := {
	"name": {"value": name, "static": true, "basename": name, "path": null}, "text": name, "static": true, "args": args, "env": [],
	"redirects": [], "via": [], "depth": 0, "wrapper": false, "in_substitution": false, "cwd": {"value": "/w", "known": true}, "git": null,
}

git(subcommand, args) := object.union(command("git", [word(a) | some a in args]), {"git": {
	"subcommand": subcommand, "globals": [], "c_options": [], "args": args, "paths": [],
	"writes": false, "network": false, "runs_program": false,
}})

shell(c) := call("Bash", {"bash": {"ok": true, "commands": [c], "features": {"glob": false}}})

words(name, values) := shell(command(name, [word(v) | some v in values]))

rules(doc) := {sprintf("%s:%s", [d.effect, d.rule]) | some d in decisions(doc)}

decisions(doc) := found if found := data.gatehouse.permission.decisions with input as doc

test_paths if {
	"allow:reads.inside" in rules(call("Read", {"paths": [path({})]}))
	"deny:paths.protected" in rules(call("Read", {"paths": [path({"protected": true, "protected_by": "env_file"})]}))
	"deny:paths.write_outside" in rules(call("Write", {"paths": [path({"mode": "write", "inside": false})]}))
	"ask:paths.unresolved" in rules(call("Read", {"paths": [path({"resolved": false, "inside": false})]}))
	"ask:paths.write_unresolved" in rules(call("Bash", {"paths": [path({"mode": "write", "resolved": false, "inside": false})]}))
	"ask:paths.read_outside" in rules(call("Read", {"paths": [path({"inside": false, "exists": false})]}))
	"ask:paths.sensitive" in rules(call("Read", {"paths": [path({"sensitive": true, "sensitive_by": "key_file"})]}))
}

test_words_that_lead_nowhere_are_no_reads if {
	not "ask:paths.read_outside" in rules(call("Bash", {"paths": [path({"inside": false, "exists": false})]}))
	"ask:paths.read_outside" in rules(call("Bash", {"paths": [path({"inside": false})]}))
}

test_one_path_outside_is_enough if {
	not "allow:reads.inside" in rules(call("Grep", {"paths": [path({}), path({"inside": false})]}))
	not "allow:reads.inside" in rules(call("Read", {"paths": []}))
}

test_modes if {
	edit := call("Edit", {"paths": [path({"mode": "write"})]})
	not "allow:dev.accept_edits" in rules(edit)
	"allow:dev.accept_edits" in rules(object.union(edit, {"session": {"mode": "acceptEdits"}}))
	"ask:plan.write" in rules(object.union(edit, {"session": {"mode": "plan"}}))
}

test_caller if {
	"deny:caller.disallowed" in rules(call("Read", {"disallowed_by_caller": {"matched": true, "rule": "Read"}}))
	"allow:dev.allowed_tools" in rules(call("X", {"allowed_by_caller": {"matched": true, "rule": "X"}}))
}

test_specific_rule_satisfies_a_danger if {
	push := shell(git("push", ["origin", "topic"]))
	"ask:git.push" in rules(object.union(push, {"allowed_by_caller": {"matched": true, "rule": "Bash"}}))
	not "ask:git.push" in rules(object.union(push, {"allowed_by_caller": {"matched": true, "specific": true}}))
}

test_tools if {
	"allow:tools.harmless" in rules(call("TaskList", {}))
	"ask:tools.question" in rules(call("AskUserQuestion", {}))
}

test_forms if {
	form := call("Elicitation", {
		"door": "elicitation", "paths_known": false,
		"tool": {"input": {"mcp_server_name": "ext", "message": "m", "mode": "form", "requested_schema": {"type": "object"}}},
	})
	rules(form) == {"deny:locked.tool"} # nothing else of any profile speaks
	"deny:caller.disallowed" in rules(object.union(form, {"disallowed_by_caller": {"matched": true, "rule": "Elicitation"}}))
	"deny:egress.metadata" in rules(object.union(form, {"url": {"host": "169.254.169.254"}}))
}

test_other_profiles if {
	"deny:ci.budget" in rules(call("Read", {"budget": {"usd_limit": 0}}))
	"deny:readonly.write" in rules(call("Write", {}))
	"deny:readonly.shell" in rules(words("make", []))
	not "deny:readonly.shell" in rules(words("pwd", []))
	"deny:locked.tool" in rules(call("WebFetch", {}))
	not "deny:locked.tool" in rules(call("Read", {}))
	"deny:locked.outside" in rules(call("Read", {"paths": [path({"inside": false})]}))
}

test_fetch_of_metadata if {
	"deny:egress.metadata" in rules(call("WebFetch", {"url": {"host": "169.254.169.254"}}))
}
