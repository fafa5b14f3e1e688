package gatehouse.permission_test

of_reads contains words(name, args) if {
	some [name, args] in [
		["pwd", []], ["printf", ["%s", "x"]], ["ls", ["-la", "--color=never"]], ["grep", ["-n"]], ["date", ["+%F", "-u"]],
		["node", ["--version"]], ["git", ["--version"]], ["sort", ["-rn", "-k2,2"]], ["uniq", ["-c"]], ["diff", ["-u"]], ["file", ["-b"]],
		["which", ["-a"]], ["find", ["-name", "-type"]], ["tree", ["-L"]], ["sha256sum", ["-b"]],
	]
}

of_reads contains shell(object.union(command("ls", []), {"redirects": [{"op": "2>&", "fd": 2, "target": "1", "static": true, "writes": false, "heredoc": null, "path": null}]}))

# git alone has no facts of a subcommand in these hand-made documents
test_reads if {
	wrong := {doc.bash.commands[0] | some doc in of_reads; not "allow:shell.reads" in rules(with_git(doc))}
	wrong == set()
}

with_git(doc) := doc if doc.bash.commands[0].name.basename != "git"

with_git(doc) := object.union(doc, {"bash": {"commands": [object.union(doc.bash.commands[0], {"git": git("", []).git})]}}) if doc.bash.commands[0].name.basename == "git"

never_reads contains words(name, args) if {
	some [name, args] in [
		["make", []], ["printf", ["-v", "a", "x"]], ["printf", ["a[0]"]], ["printf", ["$x"]], ["grep", ["-r", "x"]], ["ls", ["--files0-from=x"]],
		["cat", ["--output=x"]], ["sort", ["-o", "x"]], ["find", ["-exec"]], ["find", ["-delete"]], ["tree", ["-o"]], ["date", ["-s", "x"]],
		["node", ["x"]], ["sha256sum", ["-c"]], ["diff", ["-r"]], ["rg", ["x"]], ["cargo", ["--version"]],
	]
}

never_reads contains shell(git(sub, args)) if {
	some [sub, args] in [
		["log", ["--output=x"]], ["diff", ["--ext-diff"]], ["diff", []], ["show", ["--oneline"]], ["log", ["-p"]], ["log", ["--patch"]],
		["show", ["--stat", "-p"]], ["branch", ["new"]], ["fetch", []], ["tag", ["v1"]], ["remote", ["add", "x", "y"]], ["stash", []], ["config", ["user.name", "x"]],
	]
}

never_reads contains object.union(words("ls", []), {"bash": {"features": {"cmdsubst": true}}})

never_reads contains object.union(words("ls", []), {"bash": {"ok": false}})

never_reads contains shell(object.union(git("status", []), {"git": {"runs_program": true}}))

never_reads contains shell(object.union(git("status", []), {"git": {"globals": ["-C", "x"]}}))

never_reads contains shell(object.union(command("ls", []), {"name": {"value": "./ls"}}))

never_reads contains shell(object.union(command("ls", []), {"via": ["env"]}))

never_reads contains shell(object.union(command("ls", []), {"in_substitution": true}))

never_reads contains shell(object.union(command("ls", []), {"env": [{"name": "LD_PRELOAD", "static": true}]}))

never_reads contains shell(object.union(command("ls", []), {"redirects": [{"op": ">", "fd": -1, "target": "x", "static": true, "writes": true, "heredoc": null, "path": path({"mode": "write"})}]}))

never_reads contains shell(command("cat", [file("--output=x", {})]))

never_reads contains shell(command("uniq", [file("a", {}), file("b", {})]))

test_never_reads if {
	wrong := {doc.bash.commands[0] | some doc in never_reads; "allow:shell.reads" in rules(doc)}
	wrong == set()
}

test_files_are_read_inside_only if {
	"allow:shell.reads" in rules(shell(command("cat", [file("a.go", {})])))
	"allow:shell.reads" in rules(shell(command("grep", [word("-n"), file("a.go", {})])))
	"allow:shell.reads" in rules(shell(object.union(git("diff", []), {"args": [word("--stat"), file("a.go", {})], "git": {"args": ["--stat", "a.go"]}})))
	not "allow:shell.reads" in rules(shell(object.union(git("show", []), {"args": [word("--stat"), file("HEAD:a.go", {})], "git": {"args": ["--stat", "HEAD:a.go"]}})))
	every changes in [{"inside": false}, {"protected": true}, {"sensitive": true}, {"hardlink": true}, {"resolved": false}, {"mode": "write"}, {"flags": ["mixed_script"]}] {
		not "allow:shell.reads" in rules(shell(command("cat", [file("a", changes)])))
	}
}

test_every_command_has_to_read if {
	both := call("Bash", {"bash": {"ok": true, "commands": [command("ls", []), command("make", [])]}})
	not "allow:shell.reads" in rules(both)
}
