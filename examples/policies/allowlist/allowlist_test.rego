package gatehouse.allowlist_test

plain_file := {"raw": "a.go", "inside": true, "resolved": true}

# A call of the shell; what a test is about replaces parts of it.
shell(command, changes) := object.union(
	{
		"tool": {"name": "Bash"}, "paths": [], "paths_plain": false,
		"bash": {"ok": true, "features": {"cmdsubst": false, "background": false}, "commands": [command]},
	},
	changes,
)

command(name, words) := {
	"text": concat(" ", array.concat([name], words)),
	"name": {"value": name, "basename": name}, "static": true, "env": [], "via": [], "redirects": [], "git": null,
	"args": [{"value": w, "flag": startswith(w, "-"), "static": true} | some w in words],
}

git(words, facts) := object.union(command("git", words), {"git": object.union({"writes": false, "network": false, "runs_program": false}, facts)})

said(doc) := {sprintf("%s:%s", [d.effect, d.rule]) | some d in data.gatehouse.permission.decisions with input as doc}

allows(doc) if said(doc) == {"allow:allowlist.reads"}

denies(doc) if said(doc) == {"deny:allowlist.rest"}

test_reading_tools if {
	every tool in ["Read", "Glob", "Grep", "LS"] {
		allows({"tool": {"name": tool}, "paths": [plain_file], "paths_plain": true})
		denies({"tool": {"name": tool}, "paths": [plain_file], "paths_plain": false})
	}
	every tool in ["Write", "Edit", "WebFetch", "mcp__a__b", "Task"] {
		denies({"tool": {"name": tool}, "paths": [plain_file], "paths_plain": true})
	}
}

test_commands_on_the_list if {
	allows(shell(command("ls", ["-la"]), {}))
	allows(shell(command("cat", ["a.go"]), {"paths": [plain_file], "paths_plain": true}))
	allows(shell(command("grep", ["-n", "x"]), {}))
	allows(shell(git(["status", "--short"], {}), {}))
	allows(shell(git(["log", "--oneline", "-5", "a.go"], {}), {}))
	allows(shell(git(["diff", "--stat"], {}), {}))
	allows(shell(object.union(command("ls", []), {"redirects": [{"path": null, "static": true}]}), {}))
}

test_commands_off_the_list if {
	every name in ["rm", "make", "curl", "sh", ""] {
		denies(shell(command(name, []), {}))
	}
	denies(shell(command("grep", ["-r", "x"]), {}))
	denies(shell(command("grep", ["--file=x"]), {}))
	denies(shell(command("ls", ["-RL"]), {}))
	denies(shell(command("ls", ["--dired=x"]), {}))
	denies(shell(command("cat", ["--files0-from=x"]), {}))
}

test_git_off_the_list if {
	every words in [
		[], ["diff"], ["diff", "--cached"], ["diff", "--stat", "--no-index", "a", "b"], ["log", "-p"], ["log", "--patch"], ["log", "--output=x"], ["show"], ["show", "--stat"],
		["cat-file", "-p", "HEAD"], ["grep", "x"], ["grep", "--no-index", "x"], ["grep", "--untracked", "x"], ["-C", "x", "status"], ["log", "HEAD:a"], ["ls-files", "-s"],
	] {
		denies(shell(git(words, {}), {}))
	}
	every fact in ["writes", "network", "runs_program"] {
		denies(shell(git(["status"], {fact: true}), {}))
	}
}

test_one_command_off_the_list_is_enough if {
	denies(shell(command("ls", []), {"bash": {"commands": [command("ls", []), command("make", [])]}}))
}

test_odd_shell_texts if {
	denies(shell(command("ls", []), {"bash": {"ok": false}}))
	denies(shell(command("ls", []), {"bash": {"commands": []}}))
	denies(shell(command("ls", []), {"bash": {"features": {"cmdsubst": true}}}))
	denies(shell(command("cat", ["a"]), {"paths": [plain_file]}))
	every change in [{"static": false}, {"env": [{"name": "A"}]}, {"via": ["env"]}, {"name": {"value": "./ls"}}, {"redirects": [{"path": plain_file, "static": true}]}] {
		denies(shell(object.union(command("ls", []), change), {}))
	}
}
