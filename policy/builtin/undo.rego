# Commands that change much at once or cannot be undone.
package gatehouse.permission

undo(c) := {
	"effect": "ask", "rule": "destruction.undo", "severity": "high",
	"reason": sprintf("%s cannot be undone", [short(c.text)]),
	"agent_message": "A person is asked first, as this cannot be undone. Show what would change (plan, diff, --dry-run, list) and say which part is needed.",
}

about.irreversible contains undo(c) if {
	some c in input.bash.commands
	some a in c.args
	a.value in undoable[c.name.basename]
	not satisfied
}

undoable := {
	"terraform": {"destroy", "apply", "import", "taint", "state"}, "tofu": {"destroy", "apply", "import", "taint", "state"},
	"pulumi": {"destroy", "up", "cancel"}, "kubectl": {"delete", "apply", "replace", "drain", "scale", "patch", "edit", "exec", "cordon"},
	"helm": {"uninstall", "delete", "install", "upgrade", "rollback"}, "aws": {"rm", "rb", "delete-bucket", "terminate-instances"},
	"gcloud": {"delete", "deploy"}, "az": {"delete", "purge"},
}

about.irreversible contains undo(c) if {
	some c in input.bash.commands
	c.name.basename in {"shred", "truncate"}
	not satisfied
}

about.rights contains {
	"effect": "deny", "rule": "destruction.rights", "severity": "critical",
	"reason": sprintf("%s changes the rights of the workspace itself, the home folder or what lies outside", [short(c.text)]),
	"agent_message": "Change the mode of single files or folders inside the workspace, as in: chmod +x build.sh.",
} if {
	some c in input.bash.commands
	"rights" in families[c.name.basename]
	recursive(c)
	some a in c.args
	reaches_too_far(a)
}

about.rights contains {
	"effect": "ask", "rule": "destruction.mode", "severity": "high",
	"reason": sprintf("%s lets everybody write, or changes a whole tree", [short(c.text)]),
	"agent_message": "Change the mode of single files, and leave writing to the owner, as in: chmod 755 build.sh.",
} if {
	some c in input.bash.commands
	"rights" in families[c.name.basename]
	wide(c)
	not satisfied
}

recursive(c) if {
	some a in c.args
	regex.match(`^(-[A-Za-z]*R[A-Za-z]*|--recursive)$`, a.value)
}

wide(c) if recursive(c)

wide(c) if {
	c.name.basename == "chmod"
	some a in c.args
	regex.match(`^(0?[0-7]?[0-7][0-7][2367]|[ugo]*[ao][ugo]*[+=][rxX]*w.*)$`, a.value)
}

about.database contains {
	"effect": "ask", "rule": "destruction.data", "severity": "high",
	"reason": sprintf("%s deletes data", [short(c.text)]),
	"agent_message": "A person is asked before data is deleted. Count what would go with SELECT first, and say what is to be deleted.",
} if {
	some c in input.bash.commands
	deletes_data(c)
	not satisfied
}

deletes_data(c) if c.name.basename == "dropdb"

deletes_data(c) if {
	"database" in families[c.name.basename]
	regex.match(`(?i)\b(drop(database)?|truncate|delete\s+from|alter\s+table|flush(all|db)|deletemany|remove)\b`, c.text)
}

about.copy contains undo(c) if {
	some c in input.bash.commands
	c.name.basename == "rsync"
	some a in c.args
	regex.match(`^--(del|remove-s)`, a.value)
	not satisfied
}
