# Searches that print what lies in a whole tree, secrets included. No list of the
# caller's answers them: Bash(grep *) is meant for files and folders of the work.
package gatehouse.permission

tree(c, agent_message) := {
	"effect": "ask", "rule": "paths.tree", "severity": "high",
	"reason": sprintf("%s prints what it finds in hidden files and secrets below, too", [short(c.text)]),
	"agent_message": agent_message,
}

about.tree contains tree(c, "Search a folder such as src, or add --include='*.go'; the Grep tool leaves secret files out.") if {
	some c in input.bash.commands
	"tree" in families[c.name.basename]
	c.name.basename in {"grep", "egrep", "fgrep", "zgrep", "diff"}
	goes_down(c)
	not picks_sources(c)
	from_the_top(c)
}

about.tree contains tree(c, "Leave hidden and ignored files out, as in: rg TODO src; the Grep tool does so by itself.") if {
	some c in input.bash.commands
	c.name.basename in {"rg", "ag", "ack", "ugrep", "ug"}
	some a in c.args
	regex.match(`^(-[A-Za-z0-9]*u[A-Za-z0-9]*|-[A-Za-z0-9]*\.|--(no-i|hid|unr|skip-v|all-t|search-b|pre).*)$`, a.value)
}

about_git.tree contains tree(c, "Search what git tracks: git grep TODO, git diff --stat.") if {
	some c in input.bash.commands
	"tree" in git_families[c.git.subcommand]
	some a in c.git.args
	regex.match(`^--(no-ind|unt|no-exc)`, a)
}

goes_down(c) if {
	some a in c.args
	regex.match(`^(-[A-Za-z]*[rR][A-Za-z]*|--(rec|deref|dir).*|-[A-Za-z]*d(recurse)?)$`, a.value)
}

picks_sources(c) if {
	names := [a.value | some a in c.args; startswith(a.value, "--inc")]
	count(names) > 0
	every name in names {
		regex.match(source_names, name)
	}
}

# names of program text, in which secrets are not kept
source_names := `^--include=\*\.(([ch]|go|py|rs|js|ts|[jt]sx|java|rb|php|cs|kt|sh|md|html|css)|\{(([ch]|go|py|rs|js|ts|[jt]sx|java|rb|php|cs|kt|sh|md|html|css),?)+\})$`

# no folder is the working folder
from_the_top(c) if {
	some a in c.args
	a.path.is_root
}

# the first word is what is looked for
from_the_top(c) if {
	words := [a | some a in c.args; a.flag == false]
	count({i | some i, a in words; i > 0; a.path.exists}) == 0
}
