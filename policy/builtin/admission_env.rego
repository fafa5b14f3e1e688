# Environment variables a caller may set for a session. The names come with
# letters raised, as Windows does not tell them apart.
package gatehouse.admission

env_free := {"CI", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ"}

env_is_free(name) if name in env_free

env_is_free(name) if regex.match(`^LC_[A-Z]+$`, name)

# These redirect the API, load code or switch the gate. No grant admits them.
env_never(name) if {
	regex.match(`^(LD_|DYLD_|NODE_|BUN_|BASH_|XDG_|GIT_|SSH_|PYTHON|PERL|RUBY|ANTHROPIC_|CLAUDE|GATEHOUSE_|OTEL_|AWS_|VERTEX|GOOGLE_|LC_ALL=|DISABLE_|NPM_CONFIG_|UV_|ZDOTDIR|_JAVA_|JDK_JAVA_)`, name)
}

env_never(name) if regex.match(`_PROXY$`, name)

env_never(name) if {
	name in {
		"APPDATA", "COMSPEC", "EDITOR", "ENV", "GCONV_PATH", "HOME", "IFS", "JAVA_TOOL_OPTIONS", "LOCALAPPDATA", "LOCPATH",
		"PAGER", "PATH", "PATHEXT", "PROMPT_COMMAND", "PS4", "SHELL", "SHELLOPTS", "TEMP", "TMP", "TMPDIR", "USERPROFILE", "VISUAL",
	}
}

env_never(name) if not regex.match(`^[A-Z_][A-Z0-9_]*$`, name)

decisions contains {
	"effect": "deny", "rule": "admission.env_never", "severity": "critical",
	"reason": sprintf("environment variable %q may never come from a caller (rule admission.env_never): it can load code, redirect the API or switch the gate; set it for the server itself", [short(name)]),
} if {
	some name in input.env
	env_never(name)
}

decisions contains {
	"effect": "deny", "rule": "admission.env", "severity": "high",
	"reason": needs(sprintf("environment variable %q", [short(name)]), "admission.env", concat("", ["env.", name])),
} if {
	some name in input.env
	not env_is_free(name)
	not env_never(name)
	not env_granted(name)
}

decisions contains {
	"effect": "deny", "rule": "admission.env_whole", "severity": "high",
	"reason": "env must be given one parameter a variable (rule admission.env_whole)",
} if {
	"env" in input.names
}

env_granted(name) if {
	some grant in input.grants
	upper(grant) == concat("", ["ENV.", name])
}

env_granted(_) if granted("*")

env_granted(_) if granted("env")
