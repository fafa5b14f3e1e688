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

# In plan mode also what the caller allows waits for the plan, see plan.rego.
decisions contains {
	"effect": "ask", "rule": "plan.command", "severity": "low",
	"reason": "the session is in plan mode, in which nothing runs but commands that are known to read",
	"agent_message": "Look around with commands that only read, finish the plan and hand it over with ExitPlanMode; commands that do something come after it is accepted.",
} if {
	input.session.mode == "plan"
	input.tool.name == "Bash"
	not shell_reads
}

# Of several commands each is covered by a rule of the caller's that names it, or
# only reads: npm test | tail -5 where Bash(npm test *) is allowed.
decisions contains {"effect": "allow", "rule": "dev.compound"} if {
	input.tool.name == "Bash"
	input.allowed_by_caller.partly == true
	covered_together
}

satisfied if {
	input.allowed_by_caller.partly == true
	covered_together
}

covered_together if {
	input.bash.ok == true
	{f | some f, true in input.bash.features} - {"glob", "assign"} == set()
	every c in input.bash.commands {
		passes(c)
	}
}

passes(c) if {
	c.allowed_by_caller
	opens_no_file(c.redirects)
}

passes(c) if {
	reads(c)
	every a in array.concat(c.args, c.redirects) {
		leads_nowhere_else(a)
	}
}

leads_nowhere_else(a) if is_null(a.path)

leads_nowhere_else(a) if harmless_path(a.path)
