package gatehouse.permission_test

# What each command must meet: [command line, the effect and rule].
expected contains [words(name, args), rule] if {
	some [name, args, rule] in [
		["sudo", ["ls"], "deny:shell.privilege"],
		["docker", ["run", "--privileged", "x"], "deny:shell.privilege"],
		["docker", ["run", "x"], "ask:shell.container"],
		["claude", ["-p"], "deny:shell.own_session"],
		["crontab", ["-e"], "deny:shell.persistence"],
		["systemctl", ["enable", "x"], "deny:shell.persistence"],
		["npm", ["publish"], "ask:shell.publish"],
		["mkfs.ext4", ["x"], "deny:destruction.device"],
		["dd", ["of=/dev/sda"], "deny:destruction.device"],
		["rm", ["-r", "x"], "ask:destruction.rm_recursive"],
		["find", ["-delete"], "ask:destruction.undo"],
		["find", ["-H", "-name", "x", "-delete"], "deny:destruction.find_delete"],
		["terraform", ["destroy"], "ask:destruction.undo"],
		["kubectl", ["delete", "x"], "ask:destruction.undo"],
		["shred", ["x"], "ask:destruction.undo"],
		["nc", ["h", "1"], "deny:egress.raw"],
		["curl", ["h"], "ask:egress.network"],
		["pwd", [], "allow:shell.reads"],
		["printf", ["%s", "x"], "allow:shell.reads"],
		["ls", ["-la", "--color=never"], "allow:shell.reads"],
		["grep", ["-n"], "allow:shell.reads"],
	]
}

expected contains [shell(git(sub, args)), rule] if {
	some [sub, args, rule] in [
		["push", ["--force", "origin", "main"], "deny:git.force_push"],
		["push", ["--mirror", "-f"], "deny:git.force_push"],
		["push", [":main"], "deny:git.force_push"],
		["push", ["origin"], "ask:git.push"],
		["push", ["--force"], "deny:git.force_push"],
		["push", ["--forc", "origin", "main"], "deny:git.force_push"],
		["push", ["--mirr", "origin"], "deny:git.force_push"],
		["clone", ["-c", "k=v", "u"], "deny:git.config"],
		["clone", ["--config=k=v", "u"], "deny:git.config"],
		["clone", ["-u", "x", "u"], "deny:git.config"],
		["grep", ["-Ox", "y"], "deny:git.config"],
		["rebase", ["-x", "y"], "deny:git.config"],
		["rebase", ["--exec", "y"], "deny:git.config"],
		["bisect", ["run", "y"], "deny:git.config"],
		["difftool", ["-x", "y"], "deny:git.config"],
		["submodule", ["foreach", "y"], "deny:git.config"],
		["fetch", ["--upload-p=x"], "deny:git.config"],
		["push", ["--receive-p=x"], "deny:git.config"],
		["diff", ["--ext-d"], "deny:git.config"],
		["commit", ["--no-veri"], "deny:git.no_verify"],
		["tag", ["v1"], "ask:git.history"],
		["config", ["core.pager", "x"], "deny:git.config"],
		["fetch", ["--upload-pack=x"], "deny:git.config"],
		["commit", ["--no-verify"], "deny:git.no_verify"],
		["commit", ["-anm", "x"], "deny:git.no_verify"],
		["reset", ["--hard"], "ask:destruction.undo"],
		["clean", ["-fdx"], "ask:destruction.undo"],
		["status", ["--short"], "allow:shell.reads"],
		["log", ["-5"], "allow:shell.reads"],
		["diff", ["--stat"], "allow:shell.reads"],
		["branch", ["--show-current"], "allow:shell.reads"],
	]
}

test_expected if {
	failed := {[rule, doc.bash.commands[0].name.basename, rules(doc)] | some [doc, rule] in expected; not rule in rules(doc)}
	failed == set()
}

never_reads contains words(name, args) if {
	some [name, args] in [
		["make", []], ["printf", ["-v", "a", "x"]], ["printf", ["a[0]"]], ["printf", ["$x"]], ["grep", ["-r", "x"]], ["ls", ["--files0-from=x"]], ["cat", ["--output=x"]], ["sort", ["-o", "x"]],
	]
}

never_reads contains shell(git(sub, args)) if {
	some [sub, args] in [["log", ["--output=x"]], ["diff", ["--ext-diff"]], ["diff", []], ["show", ["--oneline"]], ["log", ["-p"]], ["log", ["--patch"]], ["show", ["--stat", "-p"]], ["branch", ["new"]], ["fetch", []]]
}

never_reads contains object.union(words("ls", []), {"bash": {"features": {"cmdsubst": true}}})

never_reads contains object.union(words("ls", []), {"bash": {"ok": false}})

never_reads contains shell(object.union(git("status", []), {"git": {"runs_program": true}}))

never_reads contains shell(object.union(command("ls", []), {"name": {"value": "./ls"}}))

never_reads contains shell(object.union(command("ls", []), {"env": [{"name": "LD_PRELOAD", "static": true}]}))

never_reads contains shell(object.union(command("ls", []), {"redirects": [{"op": ">", "target": "x", "static": true, "writes": true, "path": path({"mode": "write"})}]}))

never_reads contains shell(command("cat", [file("--output=x", {})]))

test_never_reads if {
	wrong := {doc.bash.commands[0] | some doc in never_reads; "allow:shell.reads" in rules(doc)}
	wrong == set()
}

test_files_are_read_inside_only if {
	"allow:shell.reads" in rules(shell(command("cat", [file("a.go", {})])))
	"allow:shell.reads" in rules(shell(command("grep", [word("-n"), file("a.go", {})])))
	"allow:shell.reads" in rules(shell(object.union(git("diff", []), {"args": [word("--stat"), file("a.go", {})], "git": {"args": ["--stat", "a.go"]}})))
	not "allow:shell.reads" in rules(shell(object.union(git("show", []), {"args": [word("--stat"), file("HEAD:a.go", {})], "git": {"args": ["--stat", "HEAD:a.go"]}})))
	not "allow:shell.reads" in rules(shell(command("cat", [file("a.go", {"inside": false})])))
	not "allow:shell.reads" in rules(shell(command("cat", [file(".env", {"protected": true})])))
	not "allow:shell.reads" in rules(shell(command("cat", [file("a.key", {"sensitive": true})])))
}

test_rm_reaches_too_far if {
	"deny:destruction.rm" in rules(shell(command("rm", [word("-rf"), file("/etc", {"inside": false})])))
	"deny:destruction.rm" in rules(shell(command("rm", [word("-R"), file(".", {"is_root": true})])))
	"deny:destruction.rm" in rules(shell(command("rm", [word("-rf"), {"value": "", "static": false, "path": null}])))
	"deny:destruction.rm" in rules(shell(command("rm", [word("-rf"), file("x", {"resolved": false})])))
	"ask:destruction.rm_unknown" in rules(shell(command("rm", [{"value": "", "static": false, "path": null}])))
}

test_find_delete if {
	"deny:destruction.find_delete" in rules(shell(command("find", [file(".", {"is_root": true}), word("-delete")])))
	"deny:destruction.find_delete" in rules(shell(command("find", [file("/etc", {"inside": false}), word("-delete")])))
	"deny:destruction.find_delete" in rules(shell(command("find", [{"value": "", "static": false, "path": null}, word("-delete")])))
	not "deny:destruction.find_delete" in rules(shell(command("find", [file("build", {}), word("-delete")])))
}

test_texts_that_were_not_understood if {
	"ask:shell.unanalysed" in rules(raw("eval x"))
	"deny:destruction.rm_text" in rules(raw("eval 'rm -rf /'"))
	"deny:egress.raw" in rules(raw("cat </dev/tcp/h/1"))
	"deny:egress.metadata" in rules(raw("curl 169.254.169.254"))
}

raw(text) := call("Bash", {"tool": {"input": {"command": text}}, "bash": {"reason": "x"}})

test_computed_names if {
	"deny:egress.dns" in rules(shell(object.union(command("dig", []), {"static": false})))
	"deny:git.config" in rules(shell(object.union(git("log", []), {"git": {"c_options": ["core.pager"]}})))
}
