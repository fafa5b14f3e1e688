# Helpers for tests of policies. They exist in gatehouse policy test only:
#
#	import data.gatehouse.permission
#	import data.gatehouse.testing
#
#	test_push_denied if {
#		"deny:team.push" in testing.said(permission.decisions) with input as testing.bash("git push")
#	}
package gatehouse.testing

# bash is the document of a shell command in /workspace/project, with every fact.
bash(command) := gatehouse.facts("Bash", {"command": command})

# read, write, edit and fetch are documents of one call of that tool.
read(path) := gatehouse.facts("Read", {"file_path": path})

write(path) := gatehouse.facts("Write", {"file_path": path, "content": ""})

edit(path) := gatehouse.facts("Edit", {"file_path": path, "old_string": "a", "new_string": "b"})

fetch(url) := gatehouse.facts("WebFetch", {"url": url, "prompt": "summarise"})

# call is the document of any call; call_in that of a call in another session,
# for example {"mode": "plan", "allowed_tools": ["Bash(git *)"]}.
call(tool, arguments) := gatehouse.facts(tool, arguments)

call_in(tool, arguments, session) := gatehouse.facts_in(tool, arguments, session)

# start is the document of a request to start a session with these parameters.
start(parameters) := gatehouse.admission("start", parameters)

# changed puts other values over a document, for what a call cannot bring about:
# changed(bash("ls"), {"budget": {"usd": 9}}).
changed(document, values) := object.union(document, values)

# with_plugin is the document with a plugin that was heard and passed, with fields
# put over that: with_plugin(bash("ls"), "scan", {"annotations": {"risk": "high"}}).
# One that failed is {"ok": false, "error": "…"}.
with_plugin(document, name, fields) := object.union(document, {"plugins": {name: object.union(passed, fields)}})

passed := {"ok": true, "verdict": "pass", "binding": false, "reason": "", "annotations": {}, "error": "", "ms": 0, "sha256": ""}

# said are decisions as "effect:rule".
said(decisions) := {sprintf("%s:%s", [d.effect, d.rule]) | some d in decisions}

# effects are the effects of decisions, without the rules.
effects(decisions) := {d.effect | some d in decisions}
