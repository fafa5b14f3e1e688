package gatehouse.permission_test

# A call with every field, to be changed by the tests.
call(tool, changes) := object.union(
	{
		"schema": "permission/v1", "profile": "dev", "door": "can_use_tool", "title": "",
		"tool": {"name": tool, "kind": "builtin", "server": "", "use_id": "t", "input": {"command": ""}},
		"session": {"id": "s", "cwd": "/w", "roots": ["/w"], "additional_dirs": [], "mode": "default", "trusted": false, "model": "", "turn": 1, "allowed_tools": [], "disallowed_tools": [], "mcp_servers": ["a"], "mcp_servers_known": true},
		"agent": {"id": "", "type": "", "depth": 0}, "budget": {"usd": 0, "usd_limit": 1, "turns": 0, "turns_limit": 0, "tool_calls": 0, "wall_s": 0},
		"history": {"denies": 0, "asks": 0, "taint": []}, "paths": [], "paths_known": true,
		"paths_plain": all_plain(object.get(changes, "paths", [])),
		"bash": {"ok": tool != "Bash", "reason": "", "commands": [], "features": {"glob": false, "mixed_script": false, "metadata": false}},
		"url": {"scheme": "", "host": "", "port": "", "ip_kind": "none"},
		"allowed_by_caller": {"matched": false, "rule": "", "partly": false, "specific": false},
		"disallowed_by_caller": {"matched": false, "rule": "", "specific": false},
	},
	changes,
)

path(changes) := object.union(
	{"arg": "", "raw": "p", "abs": "/w/p", "real": "/w/p", "inside": true, "root": "/w", "resolved": true, "exists": true, "is_dir": false, "symlink": false, "hardlink": false, "nlink": 1, "flags": [], "glob": null, "mode": "read", "protected": false, "protected_by": "", "sensitive": false, "sensitive_by": "", "is_root": false},
	changes,
)

nowhere := path({"raw": "", "inside": false, "resolved": false})

redirect(op, of) := {"op": op, "fd": -1, "target": "x", "static": true, "writes": op != "<", "heredoc": null, "path": of}

word(value) := {"value": value, "static": true, "flag": startswith(value, "-"), "glob": false, "tilde": false, "brace": false, "path": null}

unknown := object.union(word(""), {"static": false})

file(value, changes) := object.union(word(value), {"path": path(object.union({"raw": value}, changes))})

command(name, args) := {
	"name": {"value": name, "static": true, "basename": name, "path": null},
	"text": concat(" ", array.concat([name], [a.value | some a in args])), "static": true, "args": args, "env": [],
	"redirects": [], "via": [], "depth": 0, "wrapper": false, "in_substitution": false, "cwd": {"value": "/w", "known": true}, "git": null, "allowed_by_caller": false,
}

git(subcommand, args) := object.union(command("git", [word(a) | some a in args]), {"git": {
	"subcommand": subcommand, "globals": [], "c_options": [], "args": args, "paths": [],
	"writes": false, "network": false, "runs_program": false, "program_option": false, "known": true,
	"refspecs": [a | some a in args; subcommand == "push"; not startswith(a, "-")],
}})

# a pattern of the shell and what it meets
pattern(value, glob) := object.union(word(value), {"static": false, "glob": true, "path": path({"raw": value, "arg": "/a", "glob": object.union(
	{"pattern": value, "matches_protected": false, "matches": ["/w/a.go"], "protected": "", "truncated": false},
	glob,
)})})

# what Go says of the paths of a call
all_plain(paths) if {
	count(paths) > 0
	every p in paths {
		p.resolved
		p.inside
		not p.protected
		not p.sensitive
		not p.hardlink
		not p.glob.matches_protected
		{flag | some flag in p.flags} & odd_flags == set()
	}
}

all_plain(paths) := false if {
	some p in array.concat(paths, [path({"inside": count(paths) > 0})])
	odd(p)
}

odd(p) if not p.inside

odd(p) if not p.resolved

odd(p) if p.protected

odd(p) if p.sensitive

odd(p) if p.hardlink

odd(p) if p.glob.matches_protected

odd(p) if p.flags[_] in odd_flags

odd_flags := {"control", "device", "invisible", "mixed_script"}

shell(c) := call("Bash", {
	"bash": {"ok": true, "commands": [c], "features": {"glob": false}},
	"paths": [w.path | some w in array.concat(c.args, c.redirects); not is_null(w.path)],
})

words(name, values) := shell(command(name, [word(v) | some v in values]))

rules(doc) := {sprintf("%s:%s", [d.effect, d.rule]) | some d in decisions(doc)}

decisions(doc) := found if found := data.gatehouse.permission.decisions with input as doc

# fails lists the rows [document, "effect:rule"] whose document does not meet the rule.
fails(rows) := {[doc.tool.name, [c.text | some c in doc.bash.commands], want, rules(doc)] | some [doc, want] in rows; not want in rules(doc)}

# told lists the denies and asks of the rows that tell the model nothing else to do.
told(rows) := {d.rule |
	some [doc, _] in rows
	some d in decisions(doc)
	d.effect in {"deny", "ask"}
	count(object.get(d, "agent_message", "")) < 30
}

test_modes if {
	edit := call("Edit", {"paths": [path({"mode": "write"})]})
	not "allow:dev.accept_edits" in rules(edit)
	"allow:dev.accept_edits" in rules(object.union(edit, {"session": {"mode": "acceptEdits"}}))
	"ask:plan.write" in rules(object.union(edit, {"session": {"mode": "plan"}}))
	every mode in ["dontAsk", "delegate", "plan", "bypassPermissions"] { # none of them allows what the default does not
		rules(edit) - rules(object.union(edit, {"session": {"mode": mode}})) == set()
		rules(object.union(edit, {"session": {"mode": mode}})) - rules(edit) - {"ask:plan.write"} == set()
	}
	"ask:plan.command" in rules(object.union(shell(command("go", [])), {"session": {"mode": "plan"}}))
	"ask:plan.command" in rules(object.union(shell(command("go", [])), {"session": {"mode": "plan"}, "allowed_by_caller": {"matched": true, "rule": "Bash"}}))
	not "ask:plan.command" in rules(shell(command("go", [])))
	not "ask:plan.command" in rules(object.union(shell(command("ls", [])), {"session": {"mode": "plan"}}))
	not "allow:dev.accept_edits" in rules(object.union(edit, {"session": {"mode": "acceptEdits"}, "paths_plain": false, "paths": [path({"mode": "write"}), path({"mode": "write", "sensitive": true, "sensitive_by": "ci"})]}))
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

beside(other, changes) := object.union(call("Bash", {"bash": {"ok": true, "commands": [object.union(command("npm", []), {"allowed_by_caller": true}), other]}, "allowed_by_caller": {"partly": true}}), changes)

test_one_command_of_several_is_covered if {
	"allow:dev.compound" in rules(beside(command("tail", [word("-5"), file("a.go", {})]), {}))
	"allow:dev.compound" in rules(beside(command("pwd", []), {"bash": {"features": {"assign": true}}}))
	"allow:dev.compound" in rules(beside(object.union(git("push", ["origin", "topic"]), {"allowed_by_caller": true}), {}))
	not "ask:git.push" in rules(beside(object.union(git("push", ["origin", "topic"]), {"allowed_by_caller": true}), {}))
	every other in [command("make", []), command("cat", [file("x", {"inside": false})]), command("cat", [file("x", {"sensitive": true})])] {
		not "allow:dev.compound" in rules(beside(other, {}))
	}
	every changes in [{"bash": {"features": {"background": true}}}, {"bash": {"ok": false}}, {"allowed_by_caller": {"partly": false}}] {
		not "allow:dev.compound" in rules(beside(command("pwd", []), changes))
	}
	not "allow:dev.compound" in rules(beside(object.union(command("npm", []), {"allowed_by_caller": true, "redirects": [redirect(">", path({"mode": "write"}))]}), {}))
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
	others := rules(form) - {"deny:locked.tool"}
	others == set() # nothing else of any profile speaks
	"deny:caller.disallowed" in rules(object.union(form, {"disallowed_by_caller": {"matched": true, "rule": "Elicitation"}}))
	"deny:egress.metadata" in rules(object.union(form, {"url": {"host": "169.254.169.254", "ip_kind": "metadata"}}))
}

test_mcp if {
	tool := call("mcp__a__b", {"tool": {"kind": "mcp", "server": "a", "name": "mcp__a__b"}})
	others := rules(tool) - {"deny:locked.tool"}
	others == set() # asked by default
	every server in ["", "b", "A"] {
		"deny:mcp.undeclared" in rules(object.union(tool, {"tool": {"server": server}}))
	}
	not "deny:mcp.undeclared" in rules(object.union(tool, {"tool": {"server": "b"}, "session": {"mcp_servers_known": false}}))
}

test_tools_of_this_process if {
	tool := call("mcp__own__b", {"tool": {"kind": "sdk", "server": "own", "name": "mcp__own__b"}, "session": {"inproc_servers": ["own"]}})
	rules(tool) - {"deny:locked.tool"} == set() # asked by default, and not undeclared
	"deny:locked.tool" in rules(tool)
	"deny:caller.disallowed" in rules(object.union(tool, {"disallowed_by_caller": {"matched": true, "rule": "mcp__own"}}))
	"ask:flow.network" in rules(object.union(tool, {"history": {"taint": ["read:private"]}}))
	"deny:budget.spent" in rules(object.union(tool, {"budget": {"usd": 2, "usd_limit": 1}}))
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

test_ceilings if {
	"deny:budget.spent" in rules(call("Read", {"budget": {"usd": 1}}))
	not "deny:budget.spent" in rules(call("Read", {"budget": {"usd": 1, "usd_limit": 0}}))
	late := call("Edit", {"budget": {"usd": 0.8}})
	"ask:budget.nearly" in rules(late)
	not "ask:budget.nearly" in rules(object.union(late, {"budget": {"usd": 0.79}}))
	not "ask:budget.nearly" in rules(object.union(late, {"profile": "ci"}))
	not "ask:budget.nearly" in rules(object.union(late, {"history": {"taint": ["budget:confirmed"]}}))
	not "ask:budget.nearly" in rules(call("Read", {"budget": {"usd": 0.9}}))
	not "ask:budget.nearly" in rules(call("TaskList", {"budget": {"usd": 0.9}}))
	many := call("Edit", {"budget": {"turns": 3, "turns_limit": 3}})
	"ask:budget.turns" in rules(many)
	not "ask:budget.turns" in rules(call("Edit", {"budget": {"turns": 3, "turns_limit": 4}}))
	not "ask:budget.turns" in rules(object.union(many, {"history": {"taint": ["turns:confirmed"]}}))
}

test_labels_of_ceilings if {
	labels := {d.labels | some d in decisions(call("Edit", {"budget": {"usd": 0.9, "turns": 9, "turns_limit": 3}})); d.labels}
	labels == {{"budget": "confirmed"}, {"turns": "confirmed"}}
}
