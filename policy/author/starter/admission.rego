# Decisions about requests to start, continue or answer a session. They allow or
# deny; the built-in rules already refuse what needs a grant in [grants].
package gatehouse.admission

decisions contains {
	"effect": "deny", "rule": "team.sessions",
	"reason": "three sessions at once are enough",
} if {
	input.action == "start"
	input.running_sessions >= data.cfg.max_sessions
}
