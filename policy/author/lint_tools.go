package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// knownTools are the names of the CLI's tools (2.1.197 and before), and the one
// as which forms are judged. Names of MCP tools begin with mcp__.
var knownTools = strings.Fields(`Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit Elicitation
EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP ListAgents ListMcpResources
ListMcpResourcesTool MultiEdit NotebookEdit NotebookRead Read ReadMcpResource ReadMcpResourceTool ReportFindings
ScheduleWakeup SendMessage Skill SlashCommand StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop
TaskUpdate TodoRead TodoWrite ToolSearch WebFetch WebSearch Workflow Write`)

var (
	toolRef   = ast.MustParseRef("input.tool.name")
	kindRef   = ast.MustParseRef("input.tool.kind")
	serverRef = ast.MustParseRef("input.tool.server")
	urlRef    = ast.MustParseRef("input.url")
	doorRef   = ast.MustParseRef("input.door")
	bashRef   = ast.MustParseRef("input.bash")
	callerRef = ast.MustParseRef("input.allowed_by_caller")
	inputRef  = ast.MustParseRef("input.tool.input")
)

// toolUnknown finds names of tools that do not exist, so that the rule never fires.
func (l *linter) toolUnknown(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		calls(m, func(c call) {
			for _, name := range comparedWith(c, toolRef) {
				if slices.Contains(knownTools, name) || strings.HasPrefix(name, "mcp__") || name == "" {
					continue
				}
				l.report(id, c.at, fmt.Sprintf("there is no tool %q, so no call meets this", name), toolAdvice(name))
			}
		})
	})
	l.editTools(id)
}

func toolAdvice(name string) string {
	if near := nearestTool(name); near != "" {
		return fmt.Sprintf("write %q: letters count by case", near)
	}
	return "names of MCP tools begin with mcp__; letters count by case"
}

// nearestTool is the name that differs by case alone; empty when there is none.
func nearestTool(name string) string {
	i := slices.IndexFunc(knownTools, func(known string) bool { return strings.EqualFold(name, known) })
	if i < 0 {
		return ""
	}
	return knownTools[i]
}

// comparedWith are the texts that a call compares a field with: by == or in.
func comparedWith(c call, field ast.Ref) (texts []string) {
	if len(c.args) < 2 || !slices.Contains([]string{"eq", "equal", "neq", "internal.member_2"}, c.name) {
		return nil
	}
	for i, one := range c.args[:2] {
		if !refOf(one).Equal(field) {
			continue
		}
		other := c.args[1-i]
		if s, ok := other.Value.(ast.String); ok {
			return []string{string(s)}
		}
		if _, call := other.Value.(ast.Call); call || c.name != "internal.member_2" {
			return nil
		}
		elements := func(t *ast.Term) {
			if s, ok := t.Value.(ast.String); ok {
				texts = append(texts, string(s))
			}
		}
		switch list := other.Value.(type) {
		case ast.Set:
			list.Foreach(elements)
		case *ast.Array:
			list.Foreach(elements)
		}
	}
	return texts
}

// allowAny finds allows that let every command run: they can fire for Bash, and
// nothing in them looks at what is run.
func (l *linter) allowAny(id LintInfo) {
	for _, d := range l.allows() {
		c := l.covers(d)
		if c.some == nil && !c.every && c.text == nil && !c.other && !c.look {
			l.report(id, d.rule.Location, fmt.Sprintf("allow %q lets every shell command run: it can fire for Bash and looks at none", d.text("rule")),
				`name the tool, as in input.tool.name == "Read"; for Bash add input.bash.ok and every c in input.bash.commands { … }`)
		}
	}
}

// aboutOthers reports a condition that no call of Bash meets, or that leaves the
// tools to a list which was not looked at.
func aboutOthers(x *ast.Expr) (found bool) {
	calls(x, func(c call) {
		for _, a := range c.args {
			if refOf(a).Equal(toolRef) && c.name != "neq" {
				names := comparedWith(c, toolRef)
				prefix, literal := c.args[len(c.args)-1].Value.(ast.String)
				switch {
				case c.name == "startswith" && literal:
					found = found || !strings.HasPrefix("Bash", string(prefix))
				default:
					found = found || !slices.Contains(names, "Bash")
				}
			}
		}
		for _, field := range []ast.Ref{kindRef, serverRef, doorRef} {
			for _, word := range comparedWith(c, field) {
				found = found || c.name != "neq" && slices.Contains([]string{"mcp", "sdk", "mention", "elicitation"}, word) || field.Equal(serverRef) && word != "" && c.name != "neq"
			}
		}
		if slices.Contains([]string{"eq", "equal", "internal.member_2"}, c.name) && refOf(c.args[0]).HasPrefix(urlRef) {
			found = true
		}
	})
	return found
}

// looksAtCommand reports a condition on what is run, besides those on the list of
// commands.
func looksAtCommand(x *ast.Expr) (found bool) {
	if counts(x) {
		return false
	}
	ast.WalkTerms(x, func(t *ast.Term) bool {
		r := refOf(t)
		field, _ := keyAt(r, len(bashRef))
		switch {
		case r.HasPrefix(textRef), r.Equal(inputRef), r.HasPrefix(callerRef), r.HasPrefix(bashRef) && field != "ok",
			t.Value.Compare(ast.InputRootDocument.Value) == 0:
			found = true
		}
		return r != nil
	})
	return found
}

// denyText finds refusals that look at the text as it is written.
func (l *linter) denyText(id LintInfo) {
	for _, d := range l.decisions {
		if packageName(d.module) != "gatehouse.permission" || !slices.Contains([]string{"halt", "deny", "ask"}, d.text("effect")) {
			continue
		}
		if c := l.covers(d); c.raw != nil {
			l.report(id, c.raw, fmt.Sprintf("%s %q looks at the text as it is written: a blank before it, a path, quotes or sudo get past", d.text("effect"), d.text("rule")),
				`look at what is run: some c in input.bash.commands; c.name.basename == "curl"`)
		}
	}
}

// comparesText reports a condition on the text of a command as it is written.
func comparesText(x *ast.Expr) (found bool) {
	names := append([]string{"startswith", "eq", "equal", "internal.member_2"}, matchers...)
	calls(x, func(c call) {
		found = found || slices.Contains(names, c.name) && slices.ContainsFunc(c.args, func(t *ast.Term) bool { return refOf(t).Equal(textRef) })
	})
	return found
}
