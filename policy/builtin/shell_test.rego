package gatehouse.permission_test

# What each command must meet: [command line, the effect and rule].
of_commands contains [words(name, args), want] if {
	some [name, args, want] in [
		["sudo", ["ls"], "deny:shell.privilege"],
		["su", [], "deny:shell.privilege"],
		["chmod", ["u+s", "x"], "deny:shell.privilege"],
		["chmod", ["4755", "x"], "deny:shell.privilege"],
		["claude", ["-p"], "deny:shell.own_session"],
		["npx", ["@anthropic-ai/claude-code@latest"], "deny:shell.own_session"],
		["pkill", ["-f", "gatehouse"], "deny:shell.own_session"], ["pkill", ["mpm-session-serv"], "deny:shell.own_session"],
		["mpm-session-server", [], "deny:shell.own_session"],
		["crontab", ["-e"], "deny:shell.persistence"],
		["systemctl", ["enable", "x"], "deny:shell.persistence"],
		["systemctl", ["reboot"], "deny:destruction.host"],
		["shutdown", ["-h", "now"], "deny:destruction.host"],
		["kill", ["-9", "-1"], "deny:destruction.processes"],
		["kill", ["--", "-1"], "deny:destruction.processes"],
		["kill", ["-TERM", "1"], "deny:destruction.processes"],
		["killall5", [], "deny:destruction.processes"],
		["pkill", ["-u", "root"], "deny:destruction.processes"],
		["kill", ["4321"], "ask:destruction.process"],
		["printenv", [], "ask:shell.environment"],
		["env", ["-0"], "ask:shell.environment"],
		["docker", ["run", "--privileged", "x"], "deny:shell.privilege"],
		["docker", ["run", "--network", "host", "x"], "deny:shell.privilege"],
		["docker", ["run", "--security-opt", "seccomp=unconfined", "x"], "deny:shell.privilege"],
		["docker", ["run", "-v", "/:/host", "x"], "deny:shell.privilege"],
		["docker", ["run", "--volume=/var/run/docker.sock:/s", "x"], "deny:shell.privilege"],
		["docker", ["run", "--mount", "type=bind,source=/,target=/h", "x"], "deny:shell.privilege"],
		["docker", ["run", "x"], "ask:shell.container"],
		["docker", ["system", "prune"], "ask:destruction.undo"],
		["docker", ["push", "x"], "ask:shell.publish"],
		["npm", ["publish"], "ask:shell.publish"],
		["gh", ["release", "create", "v1"], "ask:shell.publish"],
		["mkfs.ext4", ["x"], "deny:destruction.device"],
		["dd", ["of=/dev/sda"], "deny:destruction.device"],
		["rm", ["-r", "x"], "ask:destruction.rm_recursive"],
		["find", ["x", "-delete"], "ask:destruction.undo"],
		["find", ["-H", "-name", "x", "-delete"], "deny:destruction.find_delete"],
		["find", ["-L", "x", "-delete"], "deny:destruction.find_delete"],
		["find", ["x", "-follow", "-delete"], "deny:destruction.find_delete"],
		["find", ["-files0-from", "x"], "ask:shell.computed"],
		["grep", ["-r", "x"], "ask:paths.tree"],
		["grep", ["--recursive", "x", "--include=*.env"], "ask:paths.tree"],
		["diff", ["-r", "a", "b"], "ask:paths.tree"],
		["rg", ["-uuu", "x"], "ask:paths.tree"],
		["rg", ["--hidden", "x"], "ask:paths.tree"],
		["rg", ["--no-ignore", "x"], "ask:paths.tree"],
		["curl", ["http://localhost:80/"], "ask:egress.network"],
		["terraform", ["destroy"], "ask:destruction.undo"],
		["kubectl", ["delete", "x"], "ask:destruction.undo"],
		["aws", ["s3", "rm", "s3://b"], "ask:destruction.undo"],
		["shred", ["x"], "ask:destruction.undo"],
		["rsync", ["-a", "--delete", "a/", "b/"], "ask:destruction.undo"],
		["psql", ["-c", "drop table t"], "ask:destruction.data"],
		["dropdb", ["t"], "ask:destruction.data"],
		["chmod", ["-R", "755", "src"], "ask:destruction.mode"],
		["chmod", ["777", "x"], "ask:destruction.mode"],
		["chmod", ["a+w", "x"], "ask:destruction.mode"],
		["nc", ["h", "1"], "deny:egress.raw"],
		["openssl", ["s_client", "-connect", "h:443"], "deny:egress.raw"],
		["ngrok", ["http", "80"], "deny:egress.tunnel"],
		["ssh", ["-NR", "80:localhost:80", "h"], "deny:egress.tunnel"],
		["curl", ["h"], "ask:egress.network"],
		["scp", ["host:x", "x"], "ask:egress.network"],
		["aws", ["s3", "ls"], "ask:egress.network"],
		["curl", ["-T", "x", "h"], "deny:egress.upload"],
		["curl", ["-sT", "x", "h"], "deny:egress.upload"],
		["curl", ["-d", "@x", "h"], "deny:egress.upload"],
		["curl", ["-sd@x", "h"], "deny:egress.upload"],
		["curl", ["--data-binary", "@x", "h"], "deny:egress.upload"],
		["curl", ["--data-urlencode", "a@x", "h"], "deny:egress.upload"],
		["curl", ["--json=@x", "h"], "deny:egress.upload"],
		["curl", ["-F", "f=@x", "h"], "deny:egress.upload"],
		["curl", ["--form=f=<x", "h"], "deny:egress.upload"],
		["curl", ["-K", "x"], "deny:egress.upload"],
		["wget", ["--post-file=x", "h"], "deny:egress.upload"],
		["http", ["POST", "h", "f@x"], "deny:egress.upload"],
		["scp", ["x", "host:x"], "deny:egress.upload"],
		["sftp", ["-b", "x", "h"], "deny:egress.upload"],
		["rsync", ["-a", "x", "me@host:x"], "deny:egress.upload"],
		["aws", ["s3", "cp", "x", "s3://b/x"], "deny:egress.upload"],
		["rclone", ["copy", "x", "remote:b"], "deny:egress.upload"],
		["gh", ["gist", "create", "x"], "deny:egress.upload"],
	]
}

test_commands if fails(of_commands) == set()

test_commands_tell_the_model if told(of_commands) == set()

# Beside what is dangerous stands what is not.
test_harmless_commands if {
	loud := {[name, args, rules(words(name, args))] |
		some [name, args, rule] in [
			["curl", ["-XPUT", "h"], "deny:egress.upload"], ["curl", ["-d", "a=b", "h"], "deny:egress.upload"],
			["curl", ["--data-raw", "@x", "h"], "deny:egress.upload"], ["curl", ["-H", "T: x", "h"], "deny:egress.upload"],
			["scp", ["host:x", "x"], "deny:egress.upload"], ["rsync", ["-a", "a/", "b/"], "deny:egress.upload"],
			["rsync", ["-a", "a/", "b/"], "ask:egress.network"], ["aws", ["s3", "cp", "s3://b/x", "x"], "deny:egress.upload"],
			["docker", ["run", "-v", "./x:/x", "y"], "deny:shell.privilege"], ["kill", ["%1"], "ask:destruction.process"],
			["kill", ["-9", "4321"], "deny:destruction.processes"], ["chmod", ["+x", "x"], "ask:destruction.mode"],
			["chmod", ["755", "x"], "ask:destruction.mode"], ["chmod", ["755", "x"], "deny:shell.privilege"],
			["npm", ["test"], "ask:shell.publish"], ["env", ["make"], "ask:shell.environment"], ["docker", ["ps"], "ask:shell.container"],
			["psql", ["-c", "select 1"], "ask:destruction.data"], ["systemctl", ["status"], "deny:shell.persistence"], ["gh", ["pr", "list"], "ask:shell.publish"],
		]
		rule in rules(words(name, args))
	}
	loud == set()
}

test_specific_rules_answer_every_ask if {
	asked := {[doc.bash.commands[0].text, r] |
		some [doc, want] in of_commands
		startswith(want, "ask:")
		some r in rules(object.union(doc, {"allowed_by_caller": {"matched": true, "specific": true, "rule": "r"}}))
		startswith(r, "ask:")
		not r in {"ask:paths.tree", "ask:shell.computed"} # which no rule answers
	}
	asked == set()
}

test_rm_reaches_too_far if {
	"deny:destruction.rm" in rules(shell(command("rm", [word("-rf"), file("/etc", {"inside": false})])))
	"deny:destruction.rm" in rules(shell(command("rm", [word("-R"), file(".", {"is_root": true})])))
	"deny:destruction.rm" in rules(shell(command("rm", [word("-rf"), unknown])))
	"deny:destruction.rm" in rules(shell(command("rm", [word("-rf"), file("x", {"resolved": false})])))
	"ask:destruction.rm_unknown" in rules(shell(command("rm", [unknown])))
	"deny:destruction.rights" in rules(shell(command("chmod", [word("-R"), word("777"), file("/", {"is_root": true, "inside": false})])))
	not "deny:destruction.rights" in rules(shell(command("chmod", [word("-R"), word("755"), file("src", {})])))
}

searched(program, args) := "ask:paths.tree" in rules(shell(command(program, args)))

test_trees if {
	searched("grep", [word("-rn"), word("x"), file(".", {"is_root": true})])
	not searched("grep", [word("-rn"), word("x"), file("src", {})])
	not searched("grep", [word("-rn"), word("--include=*.go"), word("x"), file(".", {"is_root": true})])
	searched("grep", [word("-r"), file("x", {})]) # the first word is no folder
	not searched("grep", [word("-n"), word("x")])
	not searched("rg", [word("x")])
}

reached(host) := {d.reason | some d in decisions(words("curl", [host])); d.rule == "egress.network"}

test_what_is_reached if {
	reached("http://localhost:1/") == {"curl http://localhost:1/ reaches a service of this machine"}
	reached("http://localhost.example.com/") == {"curl http://localhost.example.com/ reaches another host"}
}

test_find_delete if {
	"deny:destruction.find_delete" in rules(shell(command("find", [file(".", {"is_root": true}), word("-delete")])))
	"deny:destruction.find_delete" in rules(shell(command("find", [file("/etc", {"inside": false}), word("-delete")])))
	"deny:destruction.find_delete" in rules(shell(command("find", [unknown, word("-delete")])))
	not "deny:destruction.find_delete" in rules(shell(command("find", [file("build", {}), word("-delete")])))
}

raw(text) := call("Bash", {"tool": {"input": {"command": text}}, "bash": {"reason": "x"}})

of_texts contains [raw(text), want] if {
	some [text, want] in [
		["eval x", "ask:shell.unanalysed"],
		["eval 'rm -rf /'", "deny:destruction.rm_text"],
		["eval rm -r ~/x", "deny:destruction.rm_text"],
		["eval rm --recursive $HOME", "deny:destruction.rm_text"],
		["eval rm -rf .", "deny:destruction.rm_text"],
		["eval 'sudo ls'", "deny:shell.text"],
		["f() { x; }; ncat h", "deny:shell.text"],
		["eval git push --force origin main", "deny:shell.text"],
		["eval 'x >/dev/sda1'", "deny:shell.text"],
		[":(){ :|:& };:", "deny:shell.text"],
		["python3 -c 'open(\".env\")'", "deny:paths.text"],
		["eval cat ~/.ssh/id_rsa", "deny:paths.text"],
		["eval cat /proc/1/environ", "deny:paths.text"],
		["cat </dev/tcp/h/1", "deny:egress.raw"],
		["cat </dev/udp/h/1", "deny:egress.raw"],
		["curl 169.254.169.254", "deny:egress.metadata"],
		["curl http://Metadata.Google.Internal/", "deny:egress.metadata"],
	]
}

test_texts if fails(of_texts) == set()

test_texts_tell_the_model if told(of_texts) == set()

test_harmless_texts if {
	every text in ["eval make", "node -e 'process.env.HOME'", "python3 -c 'print(1)'", "eval rm x.txt", "eval ls .envoy", "eval echo claudette"] {
		denied := {r | some r in rules(raw(text)); startswith(r, "deny:"); not r in {"deny:readonly.shell", "deny:locked.tool"}}
		denied == set()
	}
}

test_facts_of_the_text if {
	"deny:egress.metadata" in rules(call("Bash", {"bash": {"features": {"metadata": true}}}))
	"ask:shell.look_alike" in rules(call("Bash", {"bash": {"features": {"mixed_script": true}}}))
	"deny:egress.dns" in rules(shell(object.union(command("dig", []), {"static": false})))
	"ask:egress.network" in rules(shell(command("rsync", [unknown])))
	"deny:egress.metadata" in rules(raw("curl x; eval http://METADATA.google.internal"))
}

unsandboxed(value) := call("Bash", {"tool": {"input": {"command": "make", "dangerouslyDisableSandbox": value}}, "allowed_by_caller": {"matched": true, "specific": true, "rule": "r"}})

test_leaving_the_sandbox if {
	every value in [true, "true", 1, null] {
		"ask:shell.unsandboxed" in rules(unsandboxed(value))
	}
	not "ask:shell.unsandboxed" in rules(unsandboxed(false))
	not "ask:shell.unsandboxed" in rules(raw("make"))
}

test_contents_of_computed_files if {
	"ask:shell.computed" in rules(shell(command("cat", [unknown])))
	"ask:shell.computed" in rules(shell(object.union(command("head", []), {"redirects": [{"op": "<", "fd": -1, "target": "", "static": false, "writes": false, "heredoc": null, "path": null}]})))
	not "ask:shell.computed" in rules(shell(command("cat", [object.union(unknown, {"glob": true})])))
	not "ask:shell.computed" in rules(shell(object.union(command("cat", []), {"redirects": [{"op": "<<", "fd": -1, "target": "", "static": false, "writes": false, "heredoc": {"quoted": false, "bytes": 1}, "path": null}]})))
	not "ask:shell.computed" in rules(shell(command("make", [unknown])))
}

test_addresses if {
	"deny:egress.metadata" in rules(call("WebFetch", {"url": {"host": "169.254.169.254", "ip_kind": "metadata"}}))
	every kind in ["loopback", "private", "link_local", "unspecified", "multicast"] {
		"ask:egress.private" in rules(call("WebFetch", {"url": {"host": "h", "ip_kind": kind}}))
	}
	not "ask:egress.private" in rules(call("WebFetch", {"url": {"host": "h", "ip_kind": "public"}}))
	not "ask:egress.private" in rules(call("WebFetch", {"url": {"host": "h", "ip_kind": "private"}, "allowed_by_caller": {"matched": true, "specific": true}}))
}
