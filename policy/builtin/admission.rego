# Who may start, continue, answer and end what. Denied by default: a parameter
# outside the free list needs a grant in the configuration.
package gatehouse.admission

decisions contains {"effect": "allow", "rule": "admission.known"} if {
	input.action in {"start", "reply", "fork", "resume", "cancel", "list", "answer"}
}

# Parameters that can start no program, leave no root, redirect no API and
# loosen no rule. Those checked further down are here too.
free := {
	"additionalDirectories", "agent", "agents", "allowedTools", "betas", "cwd", "debug", "disallowedTools", "effort",
	"enableFileCheckpointing", "fallbackModel", "forkSession", "includePartialMessages", "includeSensitive",
	"maxBudgetUsd", "maxTurns", "model", "outputFormat", "permissionMode", "permissionRequestTimeoutMs",
	"persistSession", "pollOptions", "prompt", "responseMode", "resumeSessionAt", "resumeToken", "sessionId",
	"sessionInitTimeoutMs", "settingSources", "strictMcpConfig", "systemPrompt", "thinking", "tools", "waitMs",
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

decisions contains {
	"effect": "deny", "rule": "admission.mode", "severity": "critical",
	"reason": "permissionMode must be default, plan or acceptEdits (rule admission.mode); there is no way around the policies",
} if {
	"permissionMode" in input.names
	not input.parameters.permissionMode in {"default", "plan", "acceptEdits"}
}

decisions contains {
	"effect": "deny", "rule": "admission.budget", "severity": "medium",
	"reason": "profile ci wants maxBudgetUsd for every session (rule admission.budget)",
} if {
	input.profile == "ci"
	input.action in {"start", "resume"}
	not "maxBudgetUsd" in input.names
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

short(text) := substring(text, 0, 60)
