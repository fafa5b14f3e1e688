# Ceilings: what a caller may ask for at most. The server's own limits are in
# [limits] and are kept by the engine; a caller can only lower them.
package gatehouse.admission

decisions contains {
	"effect": "deny", "rule": "admission.budget", "severity": "medium",
	"reason": "profile ci wants maxBudgetUsd for every session (rule admission.budget): give it, as nobody watches; another profile needs none, as in: profile = \"dev\"",
} if {
	input.profile == "ci"
	input.action in {"start", "resume"}
	input.request.max_usd <= 0
}

# Of the shape of a ceiling, so that a user's policy can compare it.
decisions contains {
	"effect": "deny", "rule": "admission.limits", "severity": "medium",
	"reason": never(sprintf("%s below zero", [name]), "admission.limits", "leave it out for none"),
} if {
	some name, value in {"maxTurns": input.request.max_turns, "maxBudgetUsd": input.request.max_usd, "waitMs": input.request.timeout_s}
	value < 0
}
