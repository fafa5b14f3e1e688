# Environment variables a caller may set for a session. The names come with
# letters raised, as Windows does not tell them apart.
package gatehouse.admission

env_free := {"CI", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ"}

env_is_free(name) if name in env_free

env_is_free(name) if regex.match(`^LC_[A-Z]+$`, name)

# These redirect the API, load code, or switch the gate, the shell or another
# program's own checks. No grant admits them.
env_never(name) if regex.match(never_prefix, name)

never_prefix := `^(LD_|DYLD_|NODE_|BUN_|DENO_|BASH|XDG_|GIT_|SSH_|PYTHON|PERL|RUBY|ANTHROPIC_|CLAUDE|GATEHOUSE_|OTEL_|MCP_|AWS_|AZURE_|VERTEX|GOOGLE_|CLOUDSDK_|GCLOUD_|DISABLE_|ENABLE_|NPM_CONFIG_|YARN_|PNPM_|UV_|PIP_|CARGO_|RUSTC|RUSTUP_|GRADLE_|MAVEN_|JAVA_|_JAVA_|JDK_|DOTNET_|CORECLR_|COR_|COMPLUS_|LUA_|TCL|R_PROFILE|CMAKE_|DOCKER_|CURL_|OPENSSL_|SSL_|GLIBC_|MALLOC_|ZDOTDIR|SUDO_|DBUS_|KUBE|LESS|PS[0-9]$)`

env_never(name) if endswith(name, "_PROXY")

env_never(name) if {
	name in {
		"ALLUSERSPROFILE", "APPDATA", "BROWSER", "BUNDLE_GEMFILE", "CDPATH", "COMSPEC", "EDITOR", "ENV", "FPATH", "GCONV_PATH", "GEM_HOME", "GEM_PATH",
		"GLOBIGNORE", "GNUMAKEFLAGS", "GOENV", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "HISTFILE", "HOME", "HOMEDRIVE", "HOMEPATH", "HOSTALIASES", "IFS", "INPUTRC",
		"LOCALAPPDATA", "LOCPATH", "LOGNAME", "MAKEFILES", "MAKEFLAGS", "MANPAGER", "NETRC", "NLSPATH", "NVM_DIR", "PAGER", "PATH", "PATHEXT", "PHPRC", "PHP_INI_SCAN_DIR",
		"PROGRAMDATA", "PROGRAMFILES", "PROMPT_COMMAND", "PSMODULEPATH", "PWD", "REQUESTS_CA_BUNDLE", "RES_OPTIONS", "RESOLV_HOST_CONF", "SHELL", "SHELLOPTS", "SYSTEMROOT",
		"TEMP", "TERMINFO", "TERMINFO_DIRS", "TMP", "TMPDIR", "USER", "USERNAME", "USERPROFILE", "VISUAL", "WGETRC", "WINDIR",
	}
}

env_never(name) if not regex.match(`^[A-Z_][A-Z0-9_]*$`, name)

decisions contains {
	"effect": "deny", "rule": "admission.env_never", "severity": "critical",
	"reason": never(sprintf("environment variable %q of a caller", [short(name)]), "admission.env_never", "it can load code, redirect the API or switch the gate; set it for the server itself"),
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
	"reason": never("env as a whole", "admission.env_whole", "it is judged one variable at a time, each by its own grant, as in: [grants] parameters = [\"env.STAGE\"]"),
} if {
	"env" in input.names
}

env_granted(name) if {
	some grant in input.grants
	upper(grant) == concat("", ["ENV.", name])
}

env_granted(_) if granted("*")

env_granted(_) if granted("env")
