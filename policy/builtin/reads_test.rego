package gatehouse.permission_test

of_reads contains words(name, args) if {
	some [name, args] in [
		["pwd", []], ["printf", ["%s", "x"]], ["ls", ["-la", "--color=never"]], ["grep", ["-n"]], ["date", ["+%F", "-u"]],
		["node", ["--version"]], ["git", ["--version"]], ["sort", ["-rn", "-k2,2"]], ["uniq", ["-c"]], ["diff", ["-u"]], ["file", ["-b"]],
		["which", ["-a"]], ["find", ["-name", "-type"]], ["tree", ["-L"]], ["sha256sum", ["-b"]],
		["node", ["-v"]], ["npm", ["--version"]], ["python3", ["-V"]], ["sleep", ["1.5s"]], ["ps", ["aux"]], ["test", ["-f"]], ["grep", ["-nA3", "--color=auto"]], ["xxd", ["-l16"]],
		["ls", ["-lR"]], ["du", ["-sh", "-d1"]], ["wc", ["--"]], ["head", ["-n20", "--bytes=+3"]],
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
		["python3", ["-v"]], ["npm", ["test"]], ["diff", ["-uN"]], ["wc", ["--files"]], ["du", ["--files"]], ["du", ["-aL"]], ["ls", ["-RL"]], ["ls", ["-H"]], ["tail", ["-f"]],
		["sleep", ["$x"]], ["ps", ["e"]], ["test", ["-v"]], ["xxd", ["-r"]], ["grep", ["-R"]], ["grep", ["-f"]], ["sed", ["-i"]], ["jq", ["-n"]],
	]
}

never_reads contains shell(git(sub, args)) if {
	some [sub, args] in [
		["log", ["--output=x"]], ["diff", ["--ext-diff"]], ["diff", []], ["show", ["--oneline"]], ["log", ["-p"]], ["log", ["--patch"]],
		["show", ["--stat", "-p"]], ["branch", ["new"]], ["fetch", []], ["tag", ["v1"]], ["remote", ["add", "x", "y"]], ["stash", []], ["config", ["user.name", "x"]],
		["ls-files", ["-s"]], ["show", ["-s", "abcdef0"]], ["show", ["--stat", "ABCDEF0"]], ["diff", ["--stat", "a..abcdef0"]], ["show", ["--stat", "v1-2-gabcd"]], ["status", ["-v"]], ["log", ["--format=$(x)"]],
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

never_reads contains shell(command(name, args)) if {
	some [name, args] in [
		["diff", [file("a", {"is_dir": true}), file("b", {})]], ["cmp", [file("a", {}), file("b", {"is_dir": true})]], ["xxd", [file("a", {}), file("b", {})]],
		["jq", [file("env", {}), file("a.json", {})]], ["jq", [file("$ENV", {}), file("a.json", {})]], ["jq", [file(".", {}), word("-f")]], ["cat", [unknown]],
		["grep", [word("-r"), file("x", {}), file("src", {})]], ["grep", [word("-r"), word("--include=*.env"), file("src", {})]],
		["grep", [word("-r"), word("--include=*.go"), word("--include=*"), file("src", {})]], ["grep", [word("-R"), word("--include=*.go"), file("src", {})]],
	]
}

never_reads contains object.union(shell(static_not(command("cat", [pattern("*", glob)]))), {"bash": {"features": {"glob": true}}}) if {
	some glob in [{"truncated": true}, {"matches": ["/w/-n"]}, {"matches_protected": true}]
}

never_reads contains object.union(shell(object.union(command("echo", [unknown]), {"static": false})), {"tool": {"input": {"command": "echo $X $?"}}})

never_reads contains call("Bash", {"bash": {"ok": true, "commands": pipe("find . -exec x", "wc -l", {})}, "paths_plain": true})

never_reads contains call("Bash", {"bash": {"ok": true, "commands": pipe("find . -name *", "wc -l", {})}, "paths_plain": true})

never_reads contains call("Bash", {"bash": {"ok": true, "commands": pipe("find . -name *.go", "cat", {})}, "paths_plain": true})

never_reads contains call("Bash", {"bash": {"ok": true, "commands": pipe("find . -name *.go", "wc -l", {"redirects": [redirect("<", path({}))]})}, "paths_plain": true})

# find … | xargs wc, as facts tell it
pipe(find, inner, changes) := [
	object.union(command("find", []), {"text": find}),
	object.union(object.union(command("xargs", []), {"text": concat(" ", ["xargs", inner])}), changes),
	object.union(command("wc", [word("-l"), unknown]), {"via": ["xargs"], "static": false}),
]

static_not(c) := object.union(c, {"static": false})

test_more_that_reads if {
	every doc in [
		call("Bash", {"bash": {"ok": true, "commands": pipe("find . -name *.go", "wc -l", {})}, "paths_plain": true}),
		shell(command("jq", [word("-r"), file(".[] | .name", {}), file("a.json", {})])),
		shell(command("diff", [word("-u"), file("a", {}), file("b", {})])),
		shell(command("grep", [word("-rn"), word("--include=*.go"), file("x", {}), file("src", {})])),
		shell(command("grep", [word("-r"), word("--include=*.{ts,tsx}"), file("x", {})])),
		shell(command("grep", [file("x", {}), file("/dev/null", {"abs": "/dev/null", "inside": false, "flags": ["device"]})])),
		shell(object.union(command("cat", []), {"redirects": [redirect("<", path({}))]})),
		object.union(shell(static_not(command("ls", [pattern("*.go", {})]))), {"bash": {"features": {"glob": true}}}),
		object.union(shell(static_not(command("grep", [object.union(file("--include=*.go", {"resolved": false, "inside": false, "arg": "/a"}), {"static": false, "glob": true, "flag": true}), file("x", {})]))), {"bash": {"features": {"glob": true}}}),
		object.union(shell(static_not(command("echo", [unknown]))), {"bash": {"features": {"param": true}}, "tool": {"input": {"command": "echo $?"}}}),
		shell(git("status", ["-sb"])), shell(git("log", ["-n5", "--format=%h %s"])), shell(git("remote", ["-v"])), shell(git("show", ["-s", "--stat"])),
	] {
		"allow:shell.reads" in rules(doc)
	}
}

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
