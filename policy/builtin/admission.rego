# Who may start, continue, answer and end what. Denied by default: a parameter
# outside the free list needs a grant in the configuration. Each refusal names the
# parameter, its rule and what in the configuration would admit it.
package gatehouse.admission

decisions contains {"effect": "allow", "rule": "admission.known"} if input.action in known_actions

known_actions := {"start", "reply", "fork", "resume", "cancel", "list", "answer", "configure"}

decisions contains {
	"effect": "deny", "rule": "admission.configure", "severity": "critical",
	"reason": never(sprintf("action %q", [short(input.action)]), "admission.configure", "it is not one of the actions; start another session"),
} if {
	not input.action in known_actions
	input.action != "mcp_server" # judged by rules of its own
}

# Parameters that can start no program, leave no root, redirect no API and
# loosen no rule. Those checked further down are here too.
free := {
	"additionalDirectories", "agent", "agents", "allowedTools", "betas", "cwd", "debug", "disallowedTools", "effort",
	"enableFileCheckpointing", "fallbackModel", "forkSession", "includePartialMessages", "includeSensitive",
	"maxBudgetUsd", "maxTurns", "model", "noHooks", "noTickets", "outputFormat", "permissionMode", "permissionRequestTimeoutMs",
	"persistSession", "pollOptions", "prompt", "responseMode", "resumeSessionAt", "resumeToken", "sessionId",
	"sessionInitTimeoutMs", "settingSources", "strictMcpConfig", "systemPrompt", "thinking", "timeout", "tools", "waitMs",
}

opens_session if input.action in {"start", "reply", "fork", "resume"}

decisions contains {
	"effect": "deny", "rule": "admission.parameter", "severity": "high",
	"reason": needs(sprintf("parameter %q", [short(name)]), "admission.parameter", name),
} if {
	opens_session
	some name in input.names
	name != "env"
	not name in free
	not granted(name)
}

decisions contains {
	"effect": "deny", "rule": "admission.cwd", "severity": "high",
	"reason": sprintf("cwd %q is outside the workspace (rule admission.cwd); [workspace] roots names the folders a session may work in", [short(input.cwd)]),
} if {
	input.action in {"start", "fork", "resume"}
	not input.cwd_inside_roots
}

decisions contains {
	"effect": "deny", "rule": "admission.directories", "severity": "high",
	"reason": needs(sprintf("additional directory %q outside the workspace", [short(dir.path)]), "admission.directories", "additionalDirectories"),
} if {
	some dir in input.additional_dirs
	not dir.inside
	not granted("additionalDirectories")
}

# A session may read and write its further folders, so these are never among them.
decisions contains {
	"effect": "deny", "rule": "admission.directories_never", "severity": "critical",
	"reason": never(sprintf("additional directory %q", [short(dir.abs)]), "admission.directories_never", "it holds secrets, configures the gate or is the home folder or one above; name a folder below it"),
} if {
	some dir in input.request.dirs
	not dir.inside
	too_much(dir)
}

too_much(dir) if dir.protected

too_much(dir) if dir.is_root

decisions contains {
	"effect": "deny", "rule": "admission.mode", "severity": "critical",
	"reason": never("permissionMode", "admission.mode", "it must be default, acceptEdits, plan, dontAsk or delegate, or bypassPermissions where claude_code_configure has enabled it"),
} if {
	"permissionMode" in input.names
	not input.parameters.permissionMode in {"default", "acceptEdits", "plan", "dontAsk", "delegate", "bypassPermissions"}
}

decisions contains {
	"effect": "deny", "rule": "admission.mode", "severity": "critical",
	"reason": "permissionMode bypassPermissions is refused (rule admission.mode): it is not enabled now; claude_code_configure enables it for a while where [tools] configure and [grants] parameters allow that. Without it, allowedTools names what may run unasked",
} if {
	input.parameters.permissionMode == "bypassPermissions"
	input.action != "resume" # the mode it had; it asks while that is not enabled
	not input.bypass.enabled == true
}

decisions contains {
	"effect": "deny", "rule": "admission.sensitive", "severity": "medium",
	"reason": needs(sprintf("a look at sessions with their folders and prompts in profile %s", [input.profile]), "admission.sensitive", "includeSensitive"),
} if {
	input.sensitive
	input.profile in {"ci", "locked"}
	not granted("includeSensitive")
}

granted(name) if name in input.grants

granted(_) if "*" in input.grants

needs(what, rule, grant) := sprintf("%s needs a grant (rule %s): add %q to [grants] parameters, as in: [grants] parameters = [%q]", [what, rule, short(grant), short(grant)])

# never tells of what no grant admits, and what to do instead.
never(what, rule, instead) := sprintf("%s is refused (rule %s) and no grant admits it: %s", [what, rule, instead])

short(text) := substring(text, 0, 60)
