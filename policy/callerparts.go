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
// need not be covered; redirections that open files, arithmetic, assignments
// (but harmlessVariables of one command), control flow, background jobs and folders nobody can tell never are.
func commandParts(b facts.Shell) []part {
	var parts []part
	for i := range b.Commands {
		if p, bare := commandPart(&b.Commands[i]); !bare {
			parts = append(parts, p)
		}
	}
	if surrounded(&b) || len(parts) == 0 {
		parts = append(parts, part{})
	}
	return parts
}

// commandPart is one command; bare means that it only starts the next one
// unchanged.
func commandPart(c *facts.Command) (p part, bare bool) {
	quiet := !slices.ContainsFunc(c.Redirects, func(r facts.Redirect) bool { return r.Path != nil || !r.Static })
	static := c.Static && quiet && !slices.ContainsFunc(c.Env, func(v facts.Variable) bool { return !harmlessVariable(v) })
	p = part{text: c.Text, name: c.Name.Value, static: static, pathed: c.Name.Value != c.Name.Basename}
	return p, c.Wrapper && static && !p.pathed
}

// surrounded reports what no rule for a command covers, because it stands around
// the commands or decides which of them run.
func surrounded(b *facts.Shell) bool {
	f := b.Features
	lost := slices.ContainsFunc(b.Commands, func(c facts.Command) bool { return !c.Cwd.Known })
	return f.AssignLater || f.Param || f.CmdSubst || f.ProcSubst || f.Chdir && lost || f.Arith || f.ControlFlow || f.Function || f.Background
}

// harmlessVariables may be set before a command that a rule covers, to a value
// that is known: they change looks, language and time zone, and tell a tool
// that nobody watches. LC_ and what follows it are among them.
var harmlessVariables = []string{"CI", "NODE_ENV", "NO_COLOR", "FORCE_COLOR", "TERM", "LANG", "TZ"}

func harmlessVariable(v facts.Variable) bool {
	return v.Static && (slices.Contains(harmlessVariables, v.Name) || strings.HasPrefix(v.Name, "LC_"))
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
