# git push with force: merely asked is what names branches of one's own; what is
# protected, or may be, is denied.
package gatehouse.permission

about_git.push contains {
	"effect": "deny", "rule": "git.force_push", "severity": "critical",
	"reason": sprintf("%s overwrites a protected branch", [short(c.text)]),
	"agent_message": "Push to a branch of your own, without force, as in: git push origin my-branch; a person is asked then.",
} if {
	some c in input.bash.commands
	pushes(c.git)
	forces(c.git)
	overwrites_protected(c.git)
}

# What HEAD, a pattern or no name at all pushes depends on the branch that is
# checked out, and on the other repository.
about_git.push contains {
	"effect": "deny", "rule": "git.force_push", "severity": "critical",
	"reason": sprintf("%s may overwrite a protected branch, since it names none plainly", [short(c.text)]),
	"agent_message": "Name the remote and the branch that is overwritten, and not a protected one, as in: git push --force-with-lease origin my-branch; a person is asked then.",
} if {
	some c in input.bash.commands
	pushes(c.git)
	forces(c.git)
	not names_branches(c.git)
}

overwrites_protected(g) if regex.match(`(?im)(^|[:+/])(main|master|trunk|production|release)$`, concat("\n", g.refspecs))

overwrites_protected(g) if regex.match(`(?m)^--(mi|al|br)`, concat("\n", g.args))

pushes(g) if g.subcommand in {"push", "send-pack", "http-push"}

forces(g) if {
	some a in array.concat(g.args, g.refspecs)
	regex.match(`^(-[a-zA-Z46]*[fd][a-zA-Z46]*|--fo(r.*)?|--m.*|--d(e.*)?|--pru.*|\+.*|:.*)$`, a)
}

names_branches(g) if {
	g.subcommand == "push"
	count(g.refspecs) > 1
	every refspec in array.slice(g.refspecs, 1, count(g.refspecs)) {
		branch(refspec)
	}
}

# name, source:name or :name
branch(refspec) if {
	regex.match(`^\+?([^:]*:)?[A-Za-z0-9][A-Za-z0-9._/-]*$`, refspec)
	not regex.match(`(^|[+:])([A-Z]+_)?HEAD$`, refspec)
}
