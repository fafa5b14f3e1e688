package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What is asked: packages whose name is one of these, or lies below gatehouse.lib.
var askedPackages = []string{"gatehouse.permission", "gatehouse.admission", "gatehouse.inproc", "gatehouse.redaction", "gatehouse.log"}

func (l *linter) unknownPackage(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		name := packageName(m)
		if slices.Contains(askedPackages, name) || strings.HasPrefix(name+".", "gatehouse.lib.") {
			return
		}
		l.report(id, m.Package.Location, fmt.Sprintf("nothing asks package %s", name),
			"use "+strings.Join(askedPackages, ", ")+", gatehouse.lib.… or a package that ends in _test")
	})
}

func (l *linter) twoEffects(id LintInfo) {
	first := map[string]decision{}
	for _, d := range l.decisions {
		rule, effect := d.text("rule"), d.text("effect")
		if rule == "" || effect == "" {
			continue
		}
		key := packageName(d.module) + " " + rule
		other, seen := first[key]
		if !seen {
			first[key] = d
		} else if other.text("effect") != effect {
			at := other.rule.Location
			l.report(id, d.rule.Location, fmt.Sprintf("rule %q says %s here and %s at %s:%d", rule, effect, other.text("effect"), at.File, at.Row),
				"give each its own id: people look a refusal up by it")
		}
	}
}

// strict effects need a reason.
var strictEffects = []string{"halt", "deny", "ask", "modify"}

func (l *linter) noReason(id LintInfo) {
	for _, d := range l.decisions {
		if slices.Contains(strictEffects, d.text("effect")) && !d.has("reason") {
			l.report(id, d.rule.Location, fmt.Sprintf("%s %q has no reason, so it is an error when it fires", d.text("effect"), d.text("rule")),
				`add "reason": one sentence for the people who see the refusal`)
		}
	}
}

func (l *linter) noAgentMessage(id LintInfo) {
	for _, d := range l.decisions {
		effect := d.text("effect")
		if packageName(d.module) == "gatehouse.permission" && (effect == "deny" || effect == "halt") && !d.has("agent_message") {
			l.report(id, d.rule.Location, fmt.Sprintf("%s %q does not tell the model what to do instead", effect, d.text("rule")),
				`add "agent_message": what would be allowed; otherwise the model tries its way round`)
		}
	}
}

func (l *linter) computedEffect(id LintInfo) { l.computed(id, "effect") }
func (l *linter) computedRule(id LintInfo)   { l.computed(id, "rule") }

func (l *linter) computed(id LintInfo, field string) {
	for _, d := range l.decisions {
		name, whole := field, "decision"
		if d.edits() {
			whole = "edit"
			if field == "effect" {
				name = "action"
			}
		}
		if d.text(name) == "" {
			l.report(id, d.rule.Location, fmt.Sprintf("the %s of this %s is computed, so nothing checks it when it loads", name, whole),
				fmt.Sprintf("write %q out in the %s; use one rule for each value", name, whole))
		}
	}
}

// noTest looks for each rule's id in the texts of all tests and examples.
func (l *linter) noTest(id LintInfo) {
	var named []string
	for _, m := range l.parsed {
		if isTest(m) {
			ast.WalkTerms(m, func(t *ast.Term) bool {
				if s, ok := t.Value.(ast.String); ok {
					named = append(named, string(s))
				}
				return false
			})
		}
	}
	told := map[string]bool{}
	for _, d := range l.decisions {
		rule := d.text("rule")
		if rule == "" || told[rule] || hasExamples(d.rule) || slices.ContainsFunc(named, func(s string) bool { return namesRule(s, rule) }) {
			continue
		}
		told[rule] = true
		advice := fmt.Sprintf("test that it fires and that it does not: \"%s:%s\" in testing.said(decisions) …", d.text("effect"), rule)
		if d.edits() {
			advice = fmt.Sprintf("test that it holds and where it does not: \"%s\" in {e.rule | some e in redaction.plan} with input as {…}", rule)
		}
		l.report(id, d.rule.Location, fmt.Sprintf("no test names rule %q", rule), advice)
	}
}

// namesRule reports a text that is the id, or the effect and the id.
func namesRule(text, rule string) bool {
	return text == rule || strings.HasSuffix(text, ":"+rule)
}

// hasExamples reports a rule whose metadata holds examples, which are checked
// whenever it loads.
func hasExamples(r *ast.Rule) bool {
	return slices.ContainsFunc(r.Annotations, func(a *ast.Annotations) bool {
		return a.Custom["match"] != nil || a.Custom["not_match"] != nil
	})
}

func (l *linter) unusedData(id LintInfo) {
	read, all := map[string]bool{"redaction": true}, false // its detectors are no rule's
	for _, m := range l.parsed {
		ast.WalkRefs(m, func(r ast.Ref) bool {
			if r.HasPrefix(cfgRef) {
				key, ok := keyAt(r, len(cfgRef))
				read[key] = true
				all = all || !ok
			}
			return false
		})
	}
	if all {
		return // data.cfg as a whole, or by a computed key
	}
	for _, f := range l.data {
		for _, key := range f.Keys {
			if !read[key] {
				l.found = append(l.found, dataFinding(id, f, key))
			}
		}
	}
}

var cfgRef = ast.MustParseRef("data.cfg")

// keyAt is the string at an index of a ref; ok is false when there is none.
func keyAt(r ast.Ref, i int) (string, bool) {
	if i < 0 || i >= len(r) {
		return "", false
	}
	s, ok := r[i].Value.(ast.String)
	return string(s), ok
}

// dataFinding points at the line that sets a key.
func dataFinding(id LintInfo, f DataFile, key string) Finding {
	out := Finding{
		ID: id.ID, Severity: id.Severity, File: f.Name, Line: 1, Column: 1,
		Message: fmt.Sprintf("no policy reads data.cfg.%s", key), Advice: "remove it, or look for the rule that misspells it",
	}
	for i, line := range strings.Split(f.Text, "\n") {
		bare := strings.TrimLeft(line, " \t[\"'")
		if rest, ok := strings.CutPrefix(bare, key); ok && strings.ContainsAny(rest[:min(1, len(rest))], " =.]\"':") {
			out.Line, out.Column, out.Text = i+1, len(line)-len(bare)+1, strings.TrimSpace(line)
			break
		}
	}
	return out
}
