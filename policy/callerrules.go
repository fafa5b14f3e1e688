package policy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// ruleMatch says whether a caller's allowedTools or disallowedTools speak about a call.
type ruleMatch struct {
	Matched  bool   `json:"matched"`
	Rule     string `json:"rule"`     // as the caller wrote it; of several, the first
	Specific bool   `json:"specific"` // by patterns such as Bash(git push *), not by the bare name
}

// callerRule is one entry of such a list: Tool or Tool(pattern).
type callerRule struct {
	text, tool, pattern string
	broken              bool
}

func parseRule(text string) callerRule {
	r := callerRule{text: text}
	name, rest, found := strings.Cut(strings.TrimSpace(text), "(")
	r.tool = strings.TrimSpace(name)
	if found {
		r.pattern, r.broken = strings.TrimSuffix(rest, ")"), !strings.HasSuffix(rest, ")")
	}
	if r.tool == "Task" {
		r.tool = "Agent"
	}
	if r.pattern == "*" || found && r.pattern == "" {
		r.pattern = ""
	}
	return r
}

// matchCaller applies the caller's list. To allow, every part of the call must
// be covered, by one rule or several, and nothing that could not be analysed
// is; to disallow, one part is enough.
func matchCaller(in permissionInput, resolver facts.Resolver, allow bool) ruleMatch {
	texts := in.Session.AllowedTools
	if !allow {
		texts = in.Session.DisallowedTools
	}
	var rules []callerRule
	for _, text := range texts {
		r := parseRule(text)
		if r.concerns(in.Tool) && !(allow && r.broken) {
			rules = append(rules, r)
		}
	}
	m := ruleMatch{}
	if allow {
		m = allows(rules, in, resolver)
	} else {
		m = disallows(rules, in, resolver)
	}
	return m
}

// readers and editors share the rules written for Read and Edit.
var (
	readers = []string{"Read", "Grep", "Glob", "LS", "NotebookRead"}
	editors = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
)

// concerns reports whether the rule is about the tool at all.
func (r callerRule) concerns(t toolInput) bool {
	name := t.Name
	if name == "Task" {
		name = "Agent"
	}
	switch {
	case r.tool == name:
		return true
	case r.pattern != "" && r.tool == "Read":
		return slices.Contains(readers, name)
	case r.pattern != "" && r.tool == "Edit":
		return slices.Contains(editors, name)
	case t.Kind == "mcp" && t.Server != "":
		return r.pattern == "" && (r.tool == "mcp__"+t.Server || wildcard(r.tool, t))
	}
	return false
}

// wildcard matches mcp__server__* and mcp__server__prefix*.
func wildcard(rule string, t toolInput) bool {
	prefix, ok := strings.CutSuffix(rule, "*")
	return ok && strings.HasPrefix(prefix, "mcp__"+t.Server+"__") && strings.HasPrefix(t.Name, prefix)
}

func allows(rules []callerRule, in permissionInput, resolver facts.Resolver) ruleMatch {
	understood := in.Tool.Name != "Bash" || in.Bash.OK
	if !understood || len(rules) == 0 {
		return ruleMatch{}
	}
	specific := slices.DeleteFunc(slices.Clone(rules), func(r callerRule) bool { return r.pattern == "" })
	if text := covered(specific, in, resolver); text != "" {
		return ruleMatch{Matched: true, Rule: text, Specific: true}
	}
	for _, r := range rules {
		if r.pattern == "" {
			return ruleMatch{Matched: true, Rule: r.text}
		}
	}
	return ruleMatch{}
}

// covered returns the first rule's text if the rules together cover every part.
func covered(rules []callerRule, in permissionInput, resolver facts.Resolver) string {
	parts := callParts(in)
	first := ""
	for _, p := range parts {
		i := slices.IndexFunc(rules, func(r callerRule) bool { return p.static && r.covers(p, in, resolver) })
		if i < 0 {
			return ""
		}
		if first == "" {
			first = rules[i].text
		}
	}
	return first
}

func disallows(rules []callerRule, in permissionInput, resolver facts.Resolver) ruleMatch {
	for _, r := range rules {
		if r.broken || r.pattern == "" {
			return ruleMatch{Matched: true, Rule: r.text}
		}
		for _, p := range append(callParts(in), rawParts(in)...) {
			if r.covers(p, in, resolver) || !knownPattern(in.Tool.Name) {
				return ruleMatch{Matched: true, Rule: r.text, Specific: true}
			}
		}
	}
	return ruleMatch{}
}

// part is one thing a rule must cover: a command, a path, a host, a name.
type part struct {
	text   string
	path   *facts.Path
	static bool
}

// knownPattern reports tools whose patterns are understood. A pattern for
// another tool never allows, and disallows the whole tool.
func knownPattern(tool string) bool {
	return tool == "Bash" || tool == "WebFetch" || tool == "Task" || tool == "Agent" || tool == "Skill" || facts.Known(tool)
}

// callParts splits a call into what has to be covered.
func callParts(in permissionInput) []part {
	var parts []part
	switch in.Tool.Name {
	case "Bash":
		return commandParts(in.Bash)
	case "WebFetch":
		parts = append(parts, part{text: in.URL.Host, static: in.URL.Host != ""})
	case "Task", "Agent":
		parts = append(parts, textPart(in, "subagent_type"))
	case "Skill":
		parts = append(parts, textPart(in, "skill"))
	}
	for i := range in.Paths {
		parts = append(parts, part{path: &in.Paths[i], static: in.Paths[i].Resolved})
	}
	if len(parts) == 0 {
		parts = append(parts, part{})
	}
	return parts
}

func textPart(in permissionInput, name string) part {
	text, ok := in.Tool.Input[name].(string)
	return part{text: text, static: ok && text != ""}
}

// commandParts lists commands. What only starts the next command unchanged
// need not be covered; redirections that open files, assignments, arithmetic,
// control flow and background jobs never are.
func commandParts(b facts.Shell) []part {
	var parts []part
	for _, c := range b.Commands {
		quiet := !slices.ContainsFunc(c.Redirects, func(r facts.Redirect) bool { return r.Path != nil || !r.Static })
		static := c.Static && quiet && len(c.Env) == 0 && c.Name.Value == c.Name.Basename
		if c.Wrapper && static {
			continue
		}
		parts = append(parts, part{text: c.Text, static: static})
	}
	f := b.Features
	if f.Assign || f.Param || f.CmdSubst || f.ProcSubst || f.Chdir || f.Arith || f.ControlFlow || f.Function || f.Background || len(parts) == 0 {
		parts = append(parts, part{})
	}
	return parts
}

// rawParts adds the whole text of a command, so that a disallow also sees
// what was not understood, and commands under their base name.
func rawParts(in permissionInput) []part {
	if in.Tool.Name != "Bash" {
		return nil
	}
	raw, _ := in.Tool.Input["command"].(string)
	parts := []part{{text: strings.TrimSpace(raw)}}
	for _, c := range in.Bash.Commands {
		_, args, _ := strings.Cut(c.Text, " ")
		parts = append(parts, part{text: strings.TrimSpace(c.Name.Basename + " " + args)})
		if c.Git != nil && c.Git.Subcommand != "" {
			parts = append(parts, part{text: strings.TrimSpace("git " + c.Git.Subcommand + " " + strings.Join(c.Git.Args, " "))})
		}
	}
	return parts
}

func (r callerRule) covers(p part, in permissionInput, resolver facts.Resolver) bool {
	switch {
	case p.path != nil:
		return r.coversPath(*p.path, resolver)
	case in.Tool.Name == "Bash":
		return coversCommand(r.pattern, p.text)
	case in.Tool.Name == "WebFetch":
		domain, ok := strings.CutPrefix(r.pattern, "domain:")
		return ok && p.text != "" && coversHost(strings.ToLower(domain), p.text)
	}
	return p.text != "" && p.text == r.pattern
}

func coversHost(domain, host string) bool {
	if suffix, ok := strings.CutPrefix(domain, "*."); ok {
		return strings.HasSuffix(host, "."+suffix)
	}
	return domain == host
}

// coversCommand matches one command's text: "git push:*" by prefix, "git push *"
// with stars for anything, else exactly.
func coversCommand(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
		return text == prefix || strings.HasPrefix(text, prefix+" ")
	}
	if !strings.Contains(pattern, "*") {
		return text == pattern
	}
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && text == bare {
		return true
	}
	return starred(pattern, `.*`).MatchString(text)
}

func starred(pattern, star string) *regexp.Regexp {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, star)
	return regexp.MustCompile(`(?s)^` + quoted + `$`)
}

// coversPath matches a path pattern as gitignore does: //x is absolute, ~/x
// below home, /x and x/y below the working folder, x at any depth of it. Both
// the written and the real path must match.
func (r callerRule) coversPath(p facts.Path, resolver facts.Resolver) bool {
	pattern, base := strings.TrimPrefix(r.pattern, "./"), resolver.Cwd
	switch {
	case strings.HasPrefix(pattern, "//"):
		base, pattern = string(filepath.Separator), pattern[2:]
	case strings.HasPrefix(pattern, "~/"):
		base, pattern = resolver.Home, pattern[2:]
	case strings.HasPrefix(pattern, "/"):
		pattern = pattern[1:]
	case !strings.Contains(strings.TrimSuffix(pattern, "/"), "/"):
		pattern = "**/" + pattern
	}
	for _, abs := range []string{p.Abs, p.Real} {
		if base == "" || !facts.Within(base, abs) {
			return false
		}
		rel, err := filepath.Rel(base, abs)
		if err != nil || !coversSegments(strings.Split(strings.TrimSuffix(pattern, "/"), "/"), strings.Split(filepath.ToSlash(rel), "/"), 0) {
			return false
		}
	}
	return true
}

// maxSteps bounds the backtracking of one pattern.
const maxSteps = 64

func coversSegments(pattern, path []string, depth int) bool {
	if len(pattern) == 0 {
		return true // what lies below a matched folder is matched
	}
	if depth > maxSteps {
		return false
	}
	if pattern[0] == "**" {
		for i := 0; i <= len(path); i++ {
			if coversSegments(pattern[1:], path[i:], depth+1) && (i < len(path) || len(pattern) > 1) {
				return true
			}
		}
		return false
	}
	if len(path) == 0 {
		return false
	}
	ok, err := filepath.Match(pattern[0], path[0])
	return err == nil && ok && coversSegments(pattern[1:], path[1:], depth+1)
}
