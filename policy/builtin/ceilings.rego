# What a session may spend. The engine ends a turn that runs too long, and the
# CLI one of more steps than maxTurns; these rules hold over the whole session.
package gatehouse.permission

decisions contains d if {
	input.budget.usd > 0
	input.budget.usd_limit > 0
	some d in about_budget
}

about_budget contains {
	"effect": "deny", "rule": "budget.spent", "severity": "high",
	"reason": sprintf("maxBudgetUsd of this session is spent: %.2f of %.2f", [input.budget.usd, input.budget.usd_limit]),
	"agent_message": "The budget is spent, so no further tool may be used. Say what is done and what is left.",
} if {
	input.budget.usd >= input.budget.usd_limit
}

# Asked once: the label of the call that was let through keeps it from asking
# again. Reading goes on, and in profile ci nobody could answer.
about_budget contains {
	"effect": "ask", "rule": "budget.nearly", "severity": "medium",
	"reason": sprintf("80 %% of maxBudgetUsd is spent: %.2f of %.2f", [input.budget.usd, input.budget.usd_limit]),
	"agent_message": "Most of the budget is spent and a person is asked whether to go on. Finish what was begun; reading inside the workspace is free.",
	"labels": {"budget": "confirmed"},
} if {
	input.budget.usd >= input.budget.usd_limit * 0.8
	input.profile != "ci"
	not free_of_charge
	not "budget:confirmed" in input.history.taint
}

decisions contains {
	"effect": "ask", "rule": "budget.turns", "severity": "medium",
	"reason": sprintf("the session has taken %d turns of the %d that maxTurns names", [input.budget.turns, input.budget.turns_limit]),
	"agent_message": "The turns of this session are used up and a person is asked whether to go on. Say what is done and what is left.",
	"labels": {"turns": "confirmed"},
} if {
	input.budget.turns_limit > 0
	input.budget.turns >= input.budget.turns_limit
	not free_of_charge
	not "turns:confirmed" in input.history.taint
}

free_of_charge if input.tool.name in readers

free_of_charge if input.tool.name in {"StructuredOutput", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoWrite"}
