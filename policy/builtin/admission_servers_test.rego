package gatehouse.admission_test

server(source, changes) := ask("mcp_server", object.union({"mcp_server": object.union(no_server, {"name": "n", "source": source, "transport": "stdio", "command": "srv"})}, changes))

admits(doc) if {
	denied(doc) == set()
	{[d.effect, d.rule] | some d in decided(doc)} == {["allow", "admission.server_owner"]}
}

test_servers_of_the_owner if {
	every profile in ["dev", "readonly"] {
		every source in ["user", "local"] {
			admits(server(source, {"profile": profile}))
		}
		admits(server("project", {"profile": profile, "trusted": true}))
		denied(server("project", {"profile": profile, "grants": ["*"]})) == {"admission.server"}
		denied(server("other", {"profile": profile, "grants": ["*"], "trusted": true})) == {"admission.server"}
	}
}

test_servers_in_ci_need_the_grant if {
	denied(server("user", {"profile": "ci"})) == {"admission.server"}
	denied(server("project", {"profile": "ci", "trusted": true})) == {"admission.server"}
	denied(server("project", {"profile": "ci", "grants": ["mcpServers"]})) == {"admission.server"}
	admits(server("user", {"profile": "ci", "grants": ["mcpServers"]}))
	admits(server("project", {"profile": "ci", "grants": ["*"], "trusted": true}))
	some d in decided(server("user", {"profile": "ci"}))
	contains(d.reason, `[grants] parameters = ["mcpServers"]`)
}

test_locked_starts_none if {
	every source in ["user", "local", "project"] {
		denied(server(source, {"profile": "locked", "grants": ["*", "mcpServers"], "trusted": true})) == {"admission.server"}
	}
}

test_unknown_profile_admits_no_server if {
	count(decided(server("user", {"profile": "other"}))) == 0
}

test_server_that_starts_sessions if {
	every s in [
		{"command": "gatehouse", "args": ["serve"]}, {"command": "/usr/bin/Gatehouse", "args": ["serve", "--cwd", "/w"]},
		{"command": `C:\bin\gatehouse.exe`, "args": ["serve"]}, {"command": "env", "args": ["A=b", "/x/gatehouse", "serve"]},
		{"command": "sh", "args": ["-c", "exec gatehouse serve"]}, {"command": "/opt/gatehouse-1.2", "args": ["serve"]},
		{"command": "/opt/gatehouse_v1.2.exe", "args": ["--profile", "dev"]}, {"command": "gatehouse", "args": []},
		{"command": "sh", "args": ["-c", "cd /;'/x y/gatehouse' run hello"]}, {"command": "sh -c 'gatehouse serve'", "args": []},
		{"command": "mpm-session-server", "args": []}, {"command": "/opt/MPM-session-server.exe", "args": ["--max-concurrent", "9"]},
		{"command": "gatehouse", "args": ["mpm-session-server"]}, {"command": "env", "args": ["A=b", "/x/mpm-session-server"]},
		{"command": "sh", "args": ["-c", "exec 'mpm-session-server' --max-concurrent 2"]},
	] {
		denied(server("user", {"mcp_server": object.union(own_server, s), "grants": ["*"]})) == {"admission.server_self"}
	}
	every s in [
		{"command": "mpm-session-servers", "args": []}, {"command": "my-mpm-session-server", "args": []},
		{"command": "gatehouse-tickets", "args": ["serve"]}, {"command": "gatehouse", "args": ["version"]},
		{"command": "docs", "args": ["--project", "gatehouse"]}, {"command": "docs", "args": ["/src/gatehouse", "server"]},
	] {
		admits(server("user", {"mcp_server": object.union(own_server, s)}))
	}
}

repository(changes) := server("project", {"trusted": true, "grants": ["*"], "mcp_server": object.union(own_server, object.union({"source": "project", "command": "srv"}, changes))})

own_server := object.union(no_server, {"source": "user"})

test_variables_of_a_repositorys_server if {
	every name in ["NODE_OPTIONS", "LD_PRELOAD", "PATH", "HTTPS_PROXY", "ANTHROPIC_BASE_URL", "ODD NAME"] {
		denied(repository({"env": ["A", name]})) == {"admission.server_env"}
		admits(server("user", {"mcp_server": object.union(own_server, {"command": "srv", "env": [name]})}))
		admits(server("local", {"mcp_server": object.union(own_server, {"source": "local", "command": "srv", "env": [name]})}))
	}
	admits(repository({"env": ["API_TOKEN", "TZ"]}))
	admits(repository({"headers": ["authorization", "node_options"]}))
	some d in decided(repository({"env": ["NODE_OPTIONS"]}))
	contains(d.reason, "\"NODE_OPTIONS\"")
}

test_other_actions_are_no_servers if {
	denied(ask("list", {"mcp_server": object.union(no_server, {"source": "project"})})) == set()
	denied(ask("start", {"mcp_server": {"name": "", "source": "", "transport": "", "command": "gatehouse", "args": ["serve"], "url": ""}})) == set()
}

test_resume_is_checked_as_a_start if {
	denied(ask("resume", {"names": ["resumeToken", "resumeSessionAt"]})) == set()
	denied(ask("resume", {"names": ["mcpServers"]})) == {"admission.parameter"}
	denied(ask("resume", {"cwd_inside_roots": false, "grants": ["*"]})) == {"admission.cwd"}
	denied(ask("resume", {"profile": "ci"})) == {"admission.budget"}
	denied(ask("resume", {"profile": "ci", "names": ["maxBudgetUsd"], "parameters": {"maxBudgetUsd": 1}, "request": {"max_usd": 1}})) == set()
	denied(ask("resume", {"names": ["permissionMode"], "parameters": {"permissionMode": "auto"}})) == {"admission.mode"}
}

test_sensitive_lists if {
	every profile in ["dev", "readonly"] {
		denied(ask("list", {"profile": profile, "sensitive": true, "names": ["includeSensitive"]})) == set()
	}
	every profile in ["ci", "locked"] {
		denied(ask("list", {"profile": profile})) == set()
		denied(ask("list", {"profile": profile, "sensitive": true})) == {"admission.sensitive"}
		denied(ask("list", {"profile": profile, "sensitive": true, "grants": ["includeSensitive"]})) == set()
	}
	some d in decided(ask("list", {"profile": "ci", "sensitive": true}))
	contains(d.reason, `[grants] parameters = ["includeSensitive"]`)
}

test_servers_of_this_process if {
	every source in ["gatehouse", "plugin"] {
		every profile in ["dev", "readonly", "ci", "none"] {
			doc := server(source, {"profile": profile})
			denied(doc) == set()
			{[d.effect, d.rule] | some d in decided(doc)} == {["allow", "admission.server_inproc"]}
		}
		locked := server(source, {"profile": "locked", "grants": ["*", "mcpServers"], "trusted": true})
		denied(locked) == {"admission.server"}
		{d.effect | some d in decided(locked)} == {"deny"}
		count(decided(server(source, {"profile": "other"}))) == 0
	}
	every source in ["", "caller", "Gatehouse", "gatehouse ", "sdk"] {
		denied(server(source, {})) == {"admission.server"}
	}
}

test_servers_of_this_process_start_nothing_of_a_session if {
	changes := {"command": "gatehouse", "args": ["serve"], "transport": "sdk", "source": "gatehouse"}
	denied(server("gatehouse", {"mcp_server": object.union(own_server, changes)})) == set()
	denied(ask("start", {"mcp_server": object.union(own_server, changes)})) == set()
}
