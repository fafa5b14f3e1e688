package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// ownSecrets never reach a session: who reads them could forge our tokens or
// reconfigure us.
var ownSecrets = []string{"CLAUDE_CODE_MCP_RESUME_SECRET", "CLAUDE_CODE_MCP_ALLOW_DISK_RESUME"}

// SessionVariable is set in the environment of everything a session starts, to
// the session's id. Who starts sessions should refuse to where it is set, as
// they would run beside the limits of this engine.
const SessionVariable = cli.MarkerEnv

// gateSwitches change which program runs, load code into it, or switch the
// CLI's questions, hooks or settings off. They are dropped from the owner's
// environment too.
var gateSwitches = []string{
	"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_MANAGED_SETTINGS_PATH", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_DISABLE_ATTACHMENTS",
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_EXTRA_BODY",
	"NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "PERL5OPT", "RUBYOPT", "PYTHONSTARTUP", "JAVA_TOOL_OPTIONS",
	"GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_WORK_TREE",
}

// switchPrefixes are families of such names.
var switchPrefixes = []string{"GATEHOUSE_", "LD_", "DYLD_", "BUN_"}

func switchesGate(name string) bool {
	name = strings.ToUpper(name) // names fold on Windows
	return slices.Contains(ownSecrets, name) || slices.Contains(gateSwitches, name) ||
		slices.ContainsFunc(switchPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// withholds reports a variable that no session gets.
func (e *Engine) withholds(name string) bool {
	return switchesGate(name) || e.withheld([]string{name}) != ""
}

// withheld is the first of some names that Options.Withheld has; empty: none.
func (e *Engine) withheld(names []string) string {
	for _, name := range names {
		if slices.ContainsFunc(e.o.Withheld, func(w string) bool { return w == name || foldsNames && strings.EqualFold(w, name) }) {
			return name
		}
	}
	return ""
}

// environment is the owner's without secrets and switches, the caller's admitted
// variables, and our own on top.
func (e *Engine) environment(caller map[string]string) []string {
	values := make(map[string]string)
	for _, kv := range e.o.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok && !e.withholds(name) {
			values[name] = value
		}
	}
	for name, value := range caller {
		if !e.withholds(name) {
			values[name] = value
		}
	}
	values["DISABLE_AUTOUPDATER"] = "1"
	if e.o.DisableAttachments {
		values["CLAUDE_CODE_DISABLE_ATTACHMENTS"] = "1"
	}
	guardGit(values)
	e.passGitBash(values)
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// guardGit switches off the program a repository's own configuration would have
// git run at the CLI's start. Variables beat .git/config; the owner's own
// GIT_CONFIG_* entries are kept before ours.
func guardGit(values map[string]string) {
	n, err := strconv.Atoi(values["GIT_CONFIG_COUNT"])
	if err != nil || n < 0 {
		n = 0
	}
	values["GIT_CONFIG_KEY_"+strconv.Itoa(n)] = "core.fsmonitor"
	values["GIT_CONFIG_VALUE_"+strconv.Itoa(n)] = "false"
	values["GIT_CONFIG_COUNT"] = strconv.Itoa(n + 1)
}
