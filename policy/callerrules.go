package policy

import (
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// ruleMatch says whether a caller's allowedTools or disallowedTools speak about a call.
type ruleMatch struct {
	Matched  bool   `json:"matched"`
	Rule     string `json:"rule"`     // as the caller wrote it; of several, the first
	Partly   bool   `json:"partly"`   // not matched, but patterns cover some of the commands of a shell text: see bash.commands[].allowed_by_caller
	Specific bool   `json:"specific"` // by patterns such as Bash(git push *), not by the bare name
}

// callerRule is one entry of such a list: Tool or Tool(pattern).
type callerRule struct {
	text, tool, pattern string
	broken              bool // the brackets do not match: never allows, and disallows the whole tool
}

func parseRule(text string) callerRule {
	r := callerRule{text: text}
	name, rest, found := strings.Cut(strings.TrimSpace(text), "(")
	r.tool = agentName(strings.TrimSpace(name))
	if found {
		r.pattern, r.broken = strings.TrimSuffix(rest, ")"), !strings.HasSuffix(rest, ")")
	}
	if r.pattern == "*" { // Bash(*) is Bash
		r.pattern = ""
	}
	return r
}

// agentName maps the older name of the tool Agent to the newer.
func agentName(tool string) string {
	if tool == "Task" {
		return "Agent"
	}
	return tool
}

// matchCaller applies the caller's list. To allow, every part of the call must
// be covered, by one rule or several, and nothing that could not be analysed
// is; to disallow, one part is enough, however it is spelt.
func matchCaller(in *permissionInput, resolver facts.Resolver, allow bool) ruleMatch {
	texts := in.Session.AllowedTools
	if !allow {
		texts = in.Session.DisallowedTools
	}
	m := matcher{in: in, resolver: resolver, allow: allow}
	var rules []callerRule
	for _, text := range texts {
		r := parseRule(text)
		if m.concerns(r) && !(allow && r.broken) {
			rules = append(rules, r)
		}
	}
	switch {
	case len(rules) == 0:
		return ruleMatch{}
	case allow:
		return m.allows(rules)
	}
	return m.disallows(rules)
}

// matcher applies rules to one call.
type matcher struct {
	in       *permissionInput
	resolver facts.Resolver
	allow    bool
}

// readers and editors share the rules written for Read and Edit.
var (
	readers = []string{"Read", "Grep", "Glob", "LS", "NotebookRead"}
	editors = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
)

// concerns reports whether the rule is about the tool at all.
func (m matcher) concerns(r callerRule) bool {
	t, name := m.in.Tool, agentName(m.in.Tool.Name)
	switch {
	case r.tool == name:
		return true
	case r.pattern != "" && r.tool == "Read":
		return slices.Contains(readers, name) || m.restrictsShell(name)
	case r.pattern != "" && r.tool == "Edit":
		return slices.Contains(editors, name) || m.restrictsShell(name)
	case r.pattern == "" && !m.allow && strings.Contains(r.tool, "*"):
		return coversText(r.tool, t.Name)
	case t.Kind == "mcp" && t.Server != "":
		return r.pattern == "" && (r.tool == "mcp__"+t.Server || wildcard(r.tool, t))
	}
	return false
}

// restrictsShell reports that rules for files count for a shell text: they can
// forbid what it names, but never allow a program.
func (m matcher) restrictsShell(tool string) bool { return tool == "Bash" && !m.allow }

// wildcard matches mcp__server__* and mcp__server__prefix*. An allow has to name
// the server: mcp__* alone would allow servers nobody thought of.
func wildcard(rule string, t toolInput) bool {
	prefix, ok := strings.CutSuffix(rule, "*")
	return ok && strings.HasPrefix(prefix, "mcp__"+t.Server+"__") && strings.HasPrefix(t.Name, prefix)
}

func (m matcher) allows(rules []callerRule) ruleMatch {
	if m.in.Tool.Name == "Bash" && !m.in.Bash.OK {
		return ruleMatch{}
	}
	specific := slices.DeleteFunc(slices.Clone(rules), func(r callerRule) bool { return r.pattern == "" })
	partly := m.mark(specific)
	if text := m.covered(specific); text != "" {
		return ruleMatch{Matched: true, Rule: text, Specific: true}
	}
	for _, r := range rules {
		if r.pattern == "" {
			return ruleMatch{Matched: true, Rule: r.text}
		}
	}
	return ruleMatch{Partly: partly}
}

// mark notes the commands that specific rules cover, each by itself, so that a
// policy may allow a text whose other commands it knows to be harmless. It
// reports whether there is one.
func (m matcher) mark(rules []callerRule) (some bool) {
	b := &m.in.Bash
	if m.in.Tool.Name != "Bash" || len(rules) == 0 || surrounded(b) {
		return false
	}
	for i := range b.Commands {
		p, bare := commandPart(&b.Commands[i])
		b.Commands[i].AllowedByCaller = bare || p.static && slices.ContainsFunc(rules, func(r callerRule) bool { return m.covers(r, p) })
		some = some || b.Commands[i].AllowedByCaller && !bare
	}
	return some
}

// covered returns the first rule's text if the rules together cover every part.
func (m matcher) covered(rules []callerRule) string {
	if len(rules) == 0 {
		return ""
	}
	first := ""
	for _, p := range callParts(m.in) {
		i := slices.IndexFunc(rules, func(r callerRule) bool { return p.static && m.covers(r, p) })
		if i < 0 {
			return ""
		}
		if first == "" {
			first = rules[i].text
		}
	}
	return first
}

func (m matcher) disallows(rules []callerRule) ruleMatch {
	parts := append(callParts(m.in), rawParts(m.in)...)
	for _, r := range rules {
		if r.broken || r.pattern == "" {
			return ruleMatch{Matched: true, Rule: r.text}
		}
		if !knownPattern(m.in.Tool.Name) || slices.ContainsFunc(parts, func(p part) bool { return m.covers(r, p) }) {
			return ruleMatch{Matched: true, Rule: r.text, Specific: true}
		}
	}
	return ruleMatch{}
}

// covers reports whether a rule speaks about one part.
func (m matcher) covers(r callerRule, p part) bool {
	switch {
	case p.path != nil:
		return r.tool != "Bash" && m.coversPath(r, *p.path)
	case m.in.Tool.Name == "Bash":
		return r.tool == "Bash" && (!p.pathed || strings.HasPrefix(r.pattern, p.name)) && coversCommand(r.pattern, p.text)
	case m.in.Tool.Name == "WebFetch":
		domain, ok := strings.CutPrefix(r.pattern, "domain:")
		return ok && p.text != "" && coversHost(strings.ToLower(strings.TrimSpace(domain)), p.text)
	case m.in.Tool.Name == "Skill":
		return p.text != "" && (coversCommand(r.pattern, p.text) || !m.allow && coversCommand(r.pattern, p.name))
	case m.allow:
		return p.text != "" && p.text == r.pattern
	}
	return p.text != "" && strings.EqualFold(p.text, r.pattern)
}
