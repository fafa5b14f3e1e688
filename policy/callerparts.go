package policy

import (
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// part is one thing a rule must cover: a command, a path, a host, a name.
type part struct {
	text   string
	name   string      // of a command or skill, the first word as written
	path   *facts.Path // nil for others
	static bool        // the text is known before it runs
	pathed bool        // the command is named by a path: only a rule that names it so covers it
}

// knownPattern reports tools whose patterns are understood. A pattern for
// another tool never allows, and disallows the whole tool.
func knownPattern(tool string) bool {
	return slices.Contains([]string{"Bash", "WebFetch", "Task", "Agent", "Skill"}, tool) || facts.Known(tool)
}

// callParts splits a call into what has to be covered.
func callParts(in *permissionInput) []part {
	var parts []part
	switch in.Tool.Name {
	case "Bash":
		return commandParts(in.Bash)
	case "WebFetch":
		parts = append(parts, part{text: in.URL.Host, static: in.URL.Host != ""})
	case "Task", "Agent":
		parts = append(parts, textPart(in, "subagent_type"))
	case "Skill":
		parts = append(parts, skillPart(in))
	}
	parts = append(parts, pathParts(in.Paths)...)
	if len(parts) == 0 {
		parts = append(parts, part{})
	}
	return parts
}

func pathParts(paths []facts.Path) []part {
	var parts []part
	for i := range paths {
		parts = append(parts, part{path: &paths[i], static: paths[i].Resolved})
	}
	return parts
}

func textPart(in *permissionInput, name string) part {
	text, ok := in.Tool.Input[name].(string)
	return part{text: text, static: ok && text != ""}
}

// skillPart is a skill with what it is given: Skill(name) is the bare skill,
// Skill(name *) the skill with anything.
func skillPart(in *permissionInput) part {
	p := textPart(in, "skill")
	p.name = p.text
	args, ok := in.Tool.Input["args"]
	given, isText := args.(string)
	p.static = p.static && (!ok || args == nil || isText)
	if given != "" {
		p.text += " " + given
	}
	return p
}

// commandParts lists commands. What only starts the next command unchanged
// need not be covered; redirections that open files, assignments, arithmetic,
// control flow, background jobs and folders nobody can tell never are.
func commandParts(b facts.Shell) []part {
	var parts []part
	lost := false
	for _, c := range b.Commands {
		quiet := !slices.ContainsFunc(c.Redirects, func(r facts.Redirect) bool { return r.Path != nil || !r.Static })
		static := c.Static && quiet && len(c.Env) == 0
		lost = lost || !c.Cwd.Known
		if c.Wrapper && static && c.Name.Value == c.Name.Basename {
			continue
		}
		parts = append(parts, part{text: c.Text, name: c.Name.Value, static: static, pathed: c.Name.Value != c.Name.Basename})
	}
	f := b.Features
	if f.Assign || f.Param || f.CmdSubst || f.ProcSubst || f.Chdir && lost || f.Arith || f.ControlFlow || f.Function || f.Background || len(parts) == 0 {
		parts = append(parts, part{})
	}
	return parts
}

// rawParts adds what a disallow also looks at: the whole text of a command, so
// that it sees what was not understood, commands under their base name, git
// without its options, and the files a shell text names.
func rawParts(in *permissionInput) []part {
	if in.Tool.Name != "Bash" {
		return nil
	}
	parts := append(pathParts(in.Paths), part{text: strings.TrimSpace(text(in.Tool.Input, "command"))})
	for _, c := range in.Bash.Commands {
		_, args, _ := strings.Cut(c.Text, " ")
		parts = append(parts, part{text: c.Text}, part{text: strings.TrimSpace(c.Name.Basename + " " + args)})
		if c.Git != nil && c.Git.Subcommand != "" {
			parts = append(parts, part{text: strings.TrimSpace("git " + c.Git.Subcommand + " " + strings.Join(c.Git.Args, " "))})
		}
	}
	return parts
}
