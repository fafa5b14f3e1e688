# Containers, and what leaves for a registry, a store or a cloud.
package gatehouse.permission

about.container contains {
	"effect": "deny", "rule": "shell.privilege", "severity": "critical",
	"reason": sprintf("%s starts a container with the rights of the host", [c.name.basename]),
	"agent_message": "Run the container without --privileged, host namespaces, devices, added capabilities and mounts of / or of docker.sock; mount a folder of the workspace.",
} if {
	some c in input.bash.commands
	"container" in families[c.name.basename]
	some i, a in c.args
	host_rights(a.value, next_word(c, i))
}

host_rights(word, _) if regex.match(`^--(privileged(=true)?|(pid|ipc|uts|userns|cgroupns|net|network)=host|cap-add.*|device.*|security-opt=.*unconfined)$`, word)

host_rights(word, value) if {
	word in {"--pid", "--ipc", "--uts", "--userns", "--cgroupns", "--net", "--network"}
	value == "host"
}

host_rights("--security-opt", value) if contains(value, "unconfined")

host_rights(word, value) if {
	word in {"-v", "--volume", "--mount"}
	mounts_host(value)
}

host_rights(word, _) if {
	regex.match(`^(-v|--volume=|--mount=)`, word)
	mounts_host(regex.replace(word, `^(-v|--volume=|--mount=)`, ""))
}

mounts_host(value) if regex.match(`^/:|^/(etc|root|proc|sys|dev|boot)(/|:|$)|docker\.sock|(src|source)=/(,|$)`, value)

# next_word is the word behind the one at i, "" at the end.
next_word(c, i) := c.args[i + 1].value

next_word(c, i) := "" if i + 1 == count(c.args)

about.container contains {
	"effect": "ask", "rule": "shell.container", "severity": "medium",
	"reason": sprintf("%s runs a container", [short(c.text)]),
	"agent_message": "A person is asked before containers run. Without one: docker ps, images, logs and inspect.",
} if {
	some c in input.bash.commands
	"container" in families[c.name.basename]
	some a in c.args
	a.value in {"run", "exec", "compose", "up", "start", "create", "build", "buildx", "cp", "load", "import"}
	not satisfied
}

about.container contains {
	"effect": "ask", "rule": "destruction.undo", "severity": "high",
	"reason": sprintf("%s cannot be undone", [short(c.text)]),
	"agent_message": "A person is asked first. List what would go (docker ps -a, docker images, docker volume ls) and say which single one to remove.",
} if {
	some c in input.bash.commands
	"container" in families[c.name.basename]
	some a in c.args
	a.value in {"prune", "rm", "rmi", "down", "kill"}
	not satisfied
}

about.publish contains {
	"effect": "ask", "rule": "shell.publish", "severity": "high",
	"reason": sprintf("%s publishes", [short(c.text)]),
	"agent_message": "A person is asked before anything is published. Build and check the package only (npm pack, cargo package, twine check), and say what to publish.",
} if {
	some c in input.bash.commands
	some a in c.args
	a.value in publishes[c.name.basename]
	not satisfied
}

publishes := {
	"npm": {"publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "token"}, "pnpm": {"publish"}, "yarn": {"publish"}, "bun": {"publish"},
	"cargo": {"publish", "yank", "owner"}, "gem": {"push", "yank", "owner"}, "twine": {"upload"}, "poetry": {"publish"}, "uv": {"publish"},
	"flit": {"publish"}, "hatch": {"publish"}, "dotnet": {"push"}, "nuget": {"push"}, "mvn": {"deploy", "release:perform"}, "vsce": {"publish", "unpublish"},
	"docker": {"push"}, "podman": {"push"}, "nerdctl": {"push"}, "helm": {"push"}, "glab": {"release", "repo", "variable"},
}

about.github contains {
	"effect": "ask", "rule": "shell.publish", "severity": "high",
	"reason": sprintf("%s changes what others see", [short(c.text)]),
	"agent_message": "A person is asked before anything changes on the hosting service. Prepare the text in the workspace and say what to publish.",
} if {
	some c in input.bash.commands
	c.name.basename == "gh"
	some a in c.args
	a.value in {"release", "repo", "secret", "variable", "workflow", "api", "auth", "ssh-key", "gpg-key", "extension", "alias", "codespace", "merge"}
	not satisfied
}
