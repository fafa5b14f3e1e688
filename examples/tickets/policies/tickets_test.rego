package gatehouse.tickets_test

call(name, arguments) := {"tool": {"name": concat("", ["mcp__tickets__", name]), "kind": "sdk", "server": "tickets", "input": arguments}}

said(doc) := {sprintf("%s:%s", [d.effect, d.rule]) | some d in data.gatehouse.permission.decisions with input as doc}

test_reading if said(call("list", {"limit": 5})) == {"allow:tickets.list"}

test_creating if {
	said(call("create", {"title": "The lift sticks"})) == {"allow:tickets.create"}
	every arguments in [{}, {"title": ""}, {"title": "  "}, {"title": 7}, {"title": "two\nlines"}, {"text": "The lift sticks"}] {
		said(call("create", arguments)) == {"deny:tickets.title"}
	}
}

test_ending if {
	said(call("close", {"id": 1})) == {"ask:tickets.close"}
	said(call("delete", {"id": 1})) == {"deny:tickets.delete"}
}

test_others_are_not_ours if {
	said(object.union(call("list", {}), {"tool": {"kind": "mcp"}})) == set()
	said(call("export", {})) == set()
}

result(name, bytes) := {"phase": "result", "tool": {"name": concat("", ["mcp__tickets__", name])}, "result": {"bytes": bytes}}

refused(doc) := {d.rule | some d in data.gatehouse.inproc.decisions with input as doc; d.effect == "deny"}

test_size_of_a_list if {
	refused(result("list", 2000)) == set()
	refused(result("list", 2001)) == {"tickets.size"}
	refused(result("create", 5000)) == set()
	refused(object.union(result("list", 2001), {"phase": "call"})) == set()
}
