package author

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ignoreMark begins a comment that silences one lint on its own line and the next.
const ignoreMark = "gatehouse:ignore"

// silence removes findings that a comment answers for, and reports comments
// that answer for nothing.
func (l *linter) silence() {
	id := lints[len(lints)-1].LintInfo
	for _, file := range sorted(l.parsed) {
		for _, c := range l.parsed[file].Comments {
			text := strings.TrimSpace(string(c.Text))
			rest, ok := strings.CutPrefix(text, ignoreMark)
			if !ok {
				continue
			}
			name, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
			switch {
			case !slices.ContainsFunc(lints, func(one lint) bool { return one.ID == name }):
				l.report(id, c.Location, "gatehouse:ignore names no lint: "+name, "gatehouse policy lint --list shows the ids")
			case strings.TrimSpace(reason) == "":
				l.report(id, c.Location, "gatehouse:ignore "+name+" gives no reason", "write why it is right here, behind the id")
			case !l.drop(name, c.Location):
				l.report(id, c.Location, "gatehouse:ignore "+name+" silences nothing", "remove the comment")
			}
		}
	}
}

// drop removes the findings of one lint on a comment's line and on the next line
// that is no comment, and reports whether there were any.
func (l *linter) drop(id string, at *ast.Location) bool {
	next := at.Row + 1
	for strings.HasPrefix(strings.TrimSpace(l.line(at.File, next)), "#") {
		next++
	}
	before := len(l.found)
	l.found = slices.DeleteFunc(l.found, func(f Finding) bool {
		return f.ID == id && f.File == at.File && (f.Line == at.Row || f.Line == next)
	})
	return len(l.found) < before
}
