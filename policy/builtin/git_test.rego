package gatehouse.permission_test

of_git contains [shell(git(sub, args)), want] if {
	some [sub, args, want] in [
		["push", ["--force", "origin", "main"], "deny:git.force_push"],
		["push", ["--mirror", "-f"], "deny:git.force_push"],
		["push", [":main"], "deny:git.force_push"],
		["push", ["origin"], "ask:git.push"],
		["push", ["--force", "origin", "HEAD"], "deny:git.force_push"],
		["push", ["--force", "origin", "topic:HEAD"], "deny:git.force_push"],
		["push", ["--force", "origin", "refs/heads/*"], "deny:git.force_push"],
		["push", ["--force", "origin", "@"], "deny:git.force_push"],
		["push", ["origin", "+HEAD"], "deny:git.force_push"],
		["push", ["--force", "origin", "topic"], "ask:git.push"],
		["push", ["--force", "--all", "origin"], "deny:git.force_push"],
		["send-pack", ["--force", "origin", "topic"], "deny:git.force_push"],
		["http-push", ["u", "+topic"], "deny:git.force_push"],
		["imap-send", [], "ask:git.push"],
		["maintenance", ["start"], "deny:git.config"],
		["commit", ["-nm", "x"], "deny:git.no_verify"],
		["upload-pack", ["."], "deny:git.config"],
		["filter-branch", ["--tree-filter", "x"], "deny:git.config"],
		["merge-index", ["x", "-a"], "deny:git.config"],
		["config", ["core.pager", "x", "list"], "deny:git.config"],
		["config", ["--global", "core.pager", "x", "--list"], "deny:git.config"],
		["grep", ["--no-index", "x"], "ask:paths.tree"],
		["grep", ["--untr", "x"], "ask:paths.tree"],
		["diff", ["--no-index", "a", "b"], "ask:paths.tree"],
		["push", ["--force"], "deny:git.force_push"],
		["push", ["--forc", "origin", "main"], "deny:git.force_push"],
		["push", ["--mirr", "origin"], "deny:git.force_push"],
		["send-email", ["x.patch"], "ask:git.push"],
		["clone", ["-c", "k=v", "u"], "deny:git.config"],
		["clone", ["--config=k=v", "u"], "deny:git.config"],
		["clone", ["-u", "x", "u"], "deny:git.config"],
		["clone", ["u"], "ask:git.remote"],
		["remote", ["add", "x", "u"], "ask:git.remote"],
		["submodule", ["add", "u"], "ask:git.remote"],
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
		["config", ["core.pager", "x"], "deny:git.config"],
		["config", ["--global", "alias.x", "!y"], "deny:git.config"],
		["config", ["-e"], "deny:git.config"],
		["daemon", [], "deny:git.config"],
		["fetch", ["--upload-pack=x"], "deny:git.config"],
		["commit", ["--no-verify"], "deny:git.no_verify"],
		["commit", ["-anm", "x"], "deny:git.no_verify"],
		["tag", ["v1"], "ask:git.history"],
		["branch", ["-D", "x"], "ask:git.history"],
		["rebase", ["main"], "ask:git.history"],
		["reset", ["--hard"], "ask:destruction.undo"],
		["clean", ["-fdx"], "ask:destruction.undo"],
		["stash", ["drop"], "ask:destruction.undo"],
		["checkout", ["--", "x"], "ask:destruction.undo"],
		["status", ["--short"], "allow:shell.reads"],
		["log", ["-5"], "allow:shell.reads"],
		["log", ["--since=yesterday"], "allow:shell.reads"],
		["diff", ["--stat"], "allow:shell.reads"],
		["branch", ["--show-current"], "allow:shell.reads"],
		["tag", ["--list"], "allow:shell.reads"],
		["remote", [], "allow:shell.reads"],
		["stash", ["list"], "allow:shell.reads"],
	]
}

test_git if fails(of_git) == set()

test_git_tells_the_model if told(of_git) == set()

test_harmless_git if {
	loud := {[sub, args] |
		some [sub, args] in [["tag", ["--list", "v1*"]], ["tag", []], ["branch", ["-a"]], ["config", ["--get", "core.editor"]], ["config", ["--local", "--list"]], ["config", ["user.name", "x"]], ["stash", ["list"]], ["checkout", ["-b", "x"]], ["reset", ["x"]], ["remote", ["-v"]], ["commit", ["-m", "x"]]]
		some r in rules(shell(git(sub, args)))
		not r in {"allow:shell.reads", "deny:readonly.shell", "deny:locked.tool"}
	}
	loud == set()
}

with_facts(sub, args, facts) := shell(object.union(git(sub, args), {"git": facts}))

test_odd_git if {
	"deny:git.config" in rules(with_facts("credential", ["fill"], {"known": false}))
	"deny:git.config" in rules(with_facts("credential-store", ["get"], {"known": false}))
	"deny:git.config" in rules(with_facts("remote-ext", ["x"], {"known": false}))
	"ask:git.unknown" in rules(with_facts("my-alias", [], {"known": false}))
	"deny:git.config" in rules(with_facts("log", ["--ext"], {"program_option": true}))
}

allowed(doc) := rules(object.union(doc, {"allowed_by_caller": {"matched": true, "specific": true, "rule": "Bash(git *)"}}))

elsewhere(changes) := allowed(shell(object.union(object.union(git("status", []), {"git": {"runs_program": true}}), changes)))

# No rule of the caller answers these.
test_odd_git_whatever_is_allowed if {
	"ask:git.unknown" in allowed(with_facts("my-alias", [], {"known": false}))
	"deny:git.config" in allowed(with_facts("log", [], {"program_option": true}))
	"ask:paths.tree" in allowed(shell(git("grep", ["--no-index", "x"])))
	"ask:git.programs" in elsewhere({"cwd": {"value": "/w/lib"}})
	"ask:git.programs" in elsewhere({"cwd": {"known": false}})
	"ask:git.programs" in elsewhere({"git": {"globals": ["--git-dir=x"]}})
	not "ask:git.programs" in elsewhere({})
}

test_computed_names if {
	"ask:git.unknown" in rules(shell(object.union(git("", []), {"static": false})))
	"deny:git.config" in rules(shell(object.union(git("log", []), {"git": {"c_options": ["core.pager"], "globals": ["-c", "core.pager=x"]}})))
	"deny:git.config" in rules(shell(object.union(git("log", []), {"git": {"globals": ["--exec-path=x"]}})))
	"deny:git.no_verify" in rules(shell(object.union(git("commit", []), {"env": [{"name": "HUSKY", "static": true}]})))
}
