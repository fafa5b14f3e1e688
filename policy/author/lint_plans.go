package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
)

// knownBlocks are the types of blocks in payloads (2.1.197). Newer CLIs may have
// others, so that an unknown one is only a warning.
var knownBlocks = strings.Fields(`text thinking redacted_thinking tool_use tool_result image document search_result
server_tool_use web_search_tool_result web_fetch_tool_result mcp_tool_use mcp_tool_result container_upload`)

// planEdits calls f with every edit that is written out.
func (l *linter) planEdits(f func(d decision)) {
	for _, d := range l.decisions {
		if d.edits() && d.object != nil {
			f(d)
		}
	}
}

// words calls f with the texts that are written out in a list of an edit; path
// names it, as "select", "tools".
func (d decision) words(f func(word string, at *ast.Location), path ...string) {
	object := d.object
	for i, name := range path {
		t := object.Get(ast.StringTerm(name))
		if t == nil {
			return
		}
		if i < len(path)-1 {
			inner, ok := t.Value.(ast.Object)
			if !ok {
				return
			}
			object = inner
			continue
		}
		if list, ok := t.Value.(*ast.Array); ok {
			list.Foreach(func(item *ast.Term) {
				if s, ok := item.Value.(ast.String); ok {
					f(string(s), item.Location)
				}
			})
		}
	}
}

// editApart finds edits in sets that nothing reads: a misspelt plan covers nothing.
func (l *linter) editApart(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		if packageName(m) != "gatehouse.redaction" {
			return
		}
		for _, r := range m.Rules {
			if r.Head.Key == nil || len(r.Head.Args) > 0 {
				continue
			}
			d := decision{m, r, l.writtenOut(m, r)}
			name, _ := r.Head.Ref()[0].Value.(ast.Var)
			if !d.final() && d.has("action") && d.has("rule") && !l.reads(name) {
				l.report(id, r.Location, fmt.Sprintf("nothing takes edits from the set %q, so this one covers nothing", name),
					"add it to plan: plan contains {…}")
			}
		}
	})
}

// reads reports a set of the package gatehouse.redaction that a rule names.
func (l *linter) reads(set ast.Var) (found bool) {
	whole := ast.MustParseRef("data.gatehouse.redaction").Append(ast.StringTerm(string(set)))
	l.deciding(func(m *ast.Module) {
		for _, r := range m.Rules {
			look := func(t *ast.Term) bool {
				ref := refOf(t)
				found = found || t.Value.Compare(set) == 0 || ref.HasPrefix(whole) || len(ref) > 0 && ref[0].Value.Compare(set) == 0
				return found
			}
			ast.WalkTerms(r.Body, look)
			if r.Head.Value != nil {
				ast.WalkTerms(r.Head.Value, look)
			}
		}
	})
	return found
}

// editTools finds names of tools that do not exist, in edits.
func (l *linter) editTools(id LintInfo) {
	l.planEdits(func(d decision) {
		d.words(func(name string, at *ast.Location) {
			if strings.ContainsAny(name, `*?[\`) || slices.Contains(knownTools, name) || strings.HasPrefix(name, "mcp__") {
				return
			}
			l.report(id, at, fmt.Sprintf("there is no tool %q, so the edit is about nothing", name), toolAdvice(name))
		}, "select", "tools")
	})
}

// blockUnknown finds types of blocks that no payload has.
func (l *linter) blockUnknown(id LintInfo) {
	l.planEdits(func(d decision) {
		d.words(func(name string, at *ast.Location) {
			if !slices.Contains(knownBlocks, name) {
				near, _ := policy.Nearest(name, knownBlocks)
				l.report(id, at, fmt.Sprintf("no payload has a block of the type %q, the nearest is %q", name, near), "types are those of the model's API: "+strings.Join(knownBlocks[:5], ", ")+" …")
			}
		}, "select", "blocks")
	})
}

// detectorUnknown finds names of detectors that differ a little from a built-in
// one and stand in no data. Those of a configuration are not at hand here.
func (l *linter) detectorUnknown(id LintInfo) {
	known := policy.DetectorNames()
	l.planEdits(func(d decision) {
		d.words(func(name string, at *ast.Location) {
			inData := slices.ContainsFunc(l.data, func(f DataFile) bool { return strings.Contains(f.Text, name) })
			near, changes := policy.Nearest(name, known)
			if changes == 0 || changes > 2 || inData {
				return
			}
			l.report(id, at, fmt.Sprintf("no built-in detector is called %q, the nearest is %q", name, near),
				"gatehouse redact --list has the names; for one of your configuration write above the rule: # gatehouse:ignore detector-unknown it is in gatehouse.toml")
		}, "detectors")
	})
}
