# Profile ci: as dev, but nobody is there to answer, so the engine turns every
# ask into a deny, and a budget is required.
package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "ci.budget", "severity": "high",
	"reason": "profile ci wants maxBudgetUsd for every session",
	"agent_message": "This session was started without a budget, so no tool may be used. Say that maxBudgetUsd is missing.",
} if {
	input.budget.usd_limit <= 0
}
