# Profile dev: the CLI's own default mode made visible. What allowedTools or
# acceptEdits cover runs; everything else asks; what is dangerous is denied by
# the files beside this one.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "dev.allowed_tools"} if {
	input.allowed_by_caller.matched == true
}

decisions contains {"effect": "allow", "rule": "dev.accept_edits"} if {
	input.session.mode == "acceptEdits"
	input.tool.name in {"Edit", "MultiEdit", "NotebookEdit", "Write"}
	input.paths_plain == true
}
