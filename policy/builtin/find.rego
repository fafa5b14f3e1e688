# find as a program that deletes, and that is told by a file where to look.
package gatehouse.permission

about.find contains {
	"effect": "deny", "rule": "destruction.find_delete", "severity": "critical",
	"reason": sprintf("%s would delete the workspace, what lies outside or what nobody can tell", [short(c.text)]),
	"agent_message": "Let find -delete start at a single folder inside the workspace, by its plain name, as in: find build -name '*.o' -delete; a person is asked then.",
} if {
	some c in input.bash.commands
	find_deletes(c)
	find_goes_too_far(c)
}

about.find contains {
	"effect": "ask", "rule": "shell.computed", "severity": "medium",
	"reason": sprintf("%s: which files those are stands in another file", [short(c.text)]),
	"agent_message": "Name the folders find begins at, as in: find src -name '*.go'.",
} if {
	some c in input.bash.commands
	some a in c.args
	startswith(a.value, "-files0-from")
}

about.find contains undo(c) if {
	some c in input.bash.commands
	find_deletes(c)
	not satisfied
}

find_deletes(c) if {
	c.name.basename == "find"
	some a in c.args
	a.value == "-delete"
}

find_goes_too_far(c) if {
	some a in c.args
	reaches_too_far(a)
}

find_goes_too_far(c) if {
	some a in c.args
	a.value == ""
	not a.static
}

# links lead out of the folder, lists of names anywhere
find_goes_too_far(c) if {
	some a in c.args
	regex.match(`^-(L|follow|files0-from.*)$`, a.value)
}

# no starting point means the working folder
find_goes_too_far(c) if {
	words := [a.value | some a in c.args; not regex.match(`^-([HLP]|O[0-9])$`, a.value)]
	regex.match(`^[-(!]`, words[0])
}
