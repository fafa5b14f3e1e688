package gatehouse.admission_test

no_text := {"kind": "none", "bytes": 0, "sha256": "", "text": ""}

no_request := {
	"cwd": "/w", "dirs": [], "model": "", "fallback_model": "", "permission_mode": "", "allowed_tools": [], "disallowed_tools": [], "tools": [],
	"mcp_servers": [], "env": [], "max_turns": 0, "max_usd": 0, "timeout_s": 0, "setting_sources": [], "sandbox": {}, "agents": [],
	"system_prompt": no_text, "prompt": no_text, "executable": {"abs": "", "real": "", "inside": false}, "extra_args": [],
}

no_server := {"name": "", "source": "", "transport": "", "command": "", "args": [], "url": "", "env": [], "headers": []}

ask(action, changes) := object.union(
	{
		"schema": "admission/v1", "profile": "dev", "request": no_request, "action": action, "session_id": "", "grants": [], "parameters": {}, "names": [],
		"env": [], "cwd": "/w", "cwd_inside_roots": true, "roots": ["/w"], "additional_dirs": [], "trusted": false, "mentions": [],
		"project": {"settings_files": [], "mcp_servers": [], "git_exec_keys": []}, "running_sessions": 0,
		"mcp_server": no_server, "sensitive": false,
		"approval": {"request_id": "", "tool": "", "effect": "allow", "input_changed": false, "permission_updates": [], "approver": "caller", "required": ""},
	},
	changes,
)

set(name, value, changes) := ask("start", object.union({"names": [name], "parameters": {name: value}}, changes))

decided(doc) := found if found := data.gatehouse.admission.decisions with input as doc

denied(doc) := {d.rule | some d in decided(doc); d.effect == "deny"}

test_every_action_is_known if {
	every action in ["start", "reply", "fork", "resume", "cancel", "list", "answer"] {
		denied(ask(action, {})) == set()
		{d.rule | some d in decided(ask(action, {}))} == {"admission.known"}
	}
	denied(ask("reconfigure", {"grants": ["*"]})) == {"admission.configure"}
	denied(ask("", {"grants": ["*"]})) == {"admission.configure"}
}

test_parameters if {
	every name in ["prompt", "timeout", "noHooks", "noTickets"] {
		denied(set(name, "hi", {})) == set()
	}
	denied(set("mcpServers", {}, {})) == {"admission.parameter"}
	denied(set("mcpServers", {}, {"grants": ["mcpServers"]})) == set()
	denied(set("mcpServers", {}, {"grants": ["*"]})) == set()
	denied(set("whatever", {}, {})) == {"admission.parameter"}
}

test_reason_names_the_line if {
	some d in decided(set("mcpServers", {}, {}))
	contains(d.reason, `[grants] parameters = ["mcpServers"]`)
	contains(d.reason, "admission.parameter")
}

test_folders if {
	denied(ask("start", {"cwd_inside_roots": false})) == {"admission.cwd"}
	denied(ask("fork", {"cwd_inside_roots": false})) == {"admission.cwd"}
	denied(ask("reply", {"cwd_inside_roots": false})) == set()
	denied(ask("start", {"additional_dirs": [{"path": "/x", "inside": false}]})) == {"admission.directories"}
	denied(ask("start", {"additional_dirs": [{"path": "/w/x", "inside": true}]})) == set()
}

test_env if {
	denied(ask("start", {"env": ["CI", "LC_ALL"]})) == set()
	denied(ask("start", {"env": ["STAGE"]})) == {"admission.env"}
	denied(ask("start", {"env": ["STAGE"], "grants": ["env.Stage"]})) == set()
	denied(ask("start", {"env": ["STAGE"], "grants": ["env"]})) == set()
	denied(ask("start", {"env": ["STAGE"], "grants": ["*"]})) == set()
	every name in ["LD_PRELOAD", "NODE_OPTIONS", "PATH", "HOME", "GIT_DIR", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "NO_PROXY", "OTEL_EXPORTER_OTLP_ENDPOINT", "DYLD_INSERT_LIBRARIES", "NODE_EXTRA_CA_CERTS", "BUN_OPTIONS", "BASH_ENV", "ENV", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "PYTHONPATH", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "PS4", "COMSPEC", "A B", ""] {
		denied(ask("start", {"env": [name], "grants": ["*"]})) == {"admission.env_never"}
	}
	denied(set("env", {}, {"grants": ["*"]})) == {"admission.env_whole"}
}

test_modes_and_budget if {
	every mode in ["default", "acceptEdits", "plan", "dontAsk", "delegate"] {
		denied(set("permissionMode", mode, {})) == set()
	}
	every mode in ["bypassPermissions", "auto", "", "Default", ["plan"], null] {
		denied(set("permissionMode", mode, {"grants": ["*"]})) == {"admission.mode"}
	}
	denied(set("permissionMode", "bypassPermissions", {"bypass": {"enabled": true}})) == set()
	denied(set("permissionMode", "bypassPermissions", {"bypass": {"enabled": false}, "grants": ["*"]})) == {"admission.mode"}
	denied(set("permissionMode", "auto", {"bypass": {"enabled": true}, "grants": ["*"]})) == {"admission.mode"}
	denied(ask("start", {"profile": "ci"})) == {"admission.budget"}
	denied(ask("start", {"profile": "ci", "request": {"max_usd": 0.1}})) == set()
	denied(ask("fork", {"profile": "ci"})) == set()
	denied(ask("start", {"request": {"max_usd": -1}})) == {"admission.limits"}
	denied(ask("start", {"request": {"max_turns": -1, "timeout_s": -1}})) == {"admission.limits"}
}

test_setting_sources if {
	denied(set("settingSources", [], {})) == set()
	denied(set("settingSources", ["user"], {})) == set()
	denied(set("settingSources", ["project"], {})) == {"admission.sources"}
	denied(set("settingSources", ["local"], {"trusted": true})) == set()
	denied(set("settingSources", ["local"], {"grants": ["settingSources"]})) == set()
	denied(set("settingSources", ["other"], {"grants": ["*"]})) == {"admission.sources"}
	denied(set("settingSources", "user", {})) == {"admission.sources"}
}

test_agents if {
	denied(set("agents", {"a": {"prompt": "x", "tools": []}}, {})) == set()
	denied(set("agents", {"a": {"hooks": {}}}, {})) == {"admission.agents"}
	denied(set("agents", {"a": {"mcpServers": {}}}, {"grants": ["agents"]})) == set()
	denied(set("agents", {"a": "x"}, {"grants": ["agents"]})) == {"admission.agents"}
	denied(set("agents", [], {})) == {"admission.agents"}
}

test_answers if {
	denied(ask("answer", {"approval": {"required": "human"}})) == {"admission.approver"}
	denied(ask("answer", {"approval": {"required": "human", "effect": "deny"}})) == set()
	denied(ask("answer", {"approval": {"required": "human", "approver": "human"}})) == set()
	denied(ask("answer", {"approval": {"effect": ""}})) == {"admission.effect"}
	denied(ask("answer", {"approval": {"permission_updates": [{"destination": "session", "type": "addRules"}]}})) == set()
	denied(ask("answer", {"approval": {"permission_updates": [{"destination": "session", "type": "setMode", "mode": "plan"}]}})) == set()
	every update in [{"destination": "localSettings", "type": "addRules"}, {"destination": "session", "type": "setMode", "mode": "bypassPermissions"}, {"destination": "session", "type": "addDirectories"}, "x"] {
		denied(ask("answer", {"approval": {"permission_updates": [update]}})) == {"admission.updates"}
	}
}

test_further_folders_that_are_never_given if {
	dir := {"abs": "/x", "inside": false, "protected": false, "is_root": false}
	every changes in [{"protected": true}, {"is_root": true}] {
		denied(ask("start", {"grants": ["*"], "request": {"dirs": [object.union(dir, changes)]}})) == {"admission.directories_never"}
	}
	denied(ask("start", {"grants": ["*"], "request": {"dirs": [dir, {"abs": "/w", "inside": true, "protected": false, "is_root": true}]}})) == set()
}

executable(changes, more) := set("pathToClaudeCodeExecutable", "x", object.union({"grants": ["pathToClaudeCodeExecutable"], "request": {"executable": object.union({"abs": "/opt/claude", "real": "/opt/claude", "inside": false}, changes)}}, more))

test_executable if {
	denied(executable({}, {})) == set()
	denied(executable({}, {"grants": []})) == {"admission.parameter"}
	denied(executable({"inside": true}, {})) == {"admission.executable"}
	denied(executable({"inside": true}, {"grants": ["*"]})) == {"admission.executable"}
	every name in ["/opt/claude.bat", "/opt/CLAUDE.CMD", "/opt/claude.cmd. "] {
		denied(executable({"abs": name}, {})) == {"admission.executable"}
	}
	denied(executable({"real": "/opt/x.bat"}, {})) == {"admission.executable"}
}

test_debug_file if {
	denied(set("debugFile", "debug.log", {})) == {"admission.parameter"}
	denied(set("debugFile", "debug.log", {"grants": ["debugFile"]})) == set()
	every name in ["/tmp/debug.log", "../debug.log", ".git/hooks/x.log", "main.go", ".log", "a b.log", 1] {
		denied(set("debugFile", name, {"grants": ["*"]})) == {"admission.debug_file"}
	}
}

server_of(command) := set("mcpServers", {}, {"grants": ["mcpServers"], "request": {"mcp_servers": [object.union(no_server, {"name": "n", "source": "caller", "command": command})]}})

test_servers_of_the_caller if {
	denied(server_of("tracker")) == set()
	denied(server_of("gatehouse")) == {"admission.server_self"}
}
