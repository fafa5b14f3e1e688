package author

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// nullableFields can be null, each with what is null there.
var nullableFields = map[string]string{
	"path":    "words that name no path",
	"git":     "commands other than git",
	"heredoc": "redirections without a here-document",
	"glob":    "paths without a pattern",
}

// nullable finds not X.path.inside and X.git.subcommand != "push" without a
// guard: the first is true for every null, the second says nothing there.
func (l *linter) nullable(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		for _, body := range bodies(m) {
			for _, x := range body {
				for _, owner := range nullableOwners(x) {
					if guarded(body, x, owner) {
						continue
					}
					field, _ := keyAt(owner, len(owner)-1)
					l.report(id, x.Location, fmt.Sprintf("%s is null for %s, and this condition then does not say what it seems to", owner, nullableFields[field]),
						fmt.Sprintf("put not is_null(%s) before it, or a positive condition", owner))
				}
			}
		}
	})
}

// bodies are all bodies of a module, those within expressions too.
func bodies(m *ast.Module) (all []ast.Body) {
	ast.WalkBodies(m, func(b ast.Body) bool {
		all = append(all, b)
		return false
	})
	return all
}

// nullableOwners are the nullable objects that a negated or unequal expression
// reads a field of.
func nullableOwners(x *ast.Expr) (owners []ast.Ref) {
	unequal := x.IsCall() && x.Operator().String() == "neq"
	if !negated(x) && !unequal {
		return nil
	}
	ast.WalkRefs(x, func(r ast.Ref) bool {
		for i := 1; i < len(r)-1; i++ {
			field, ok := keyAt(r, i)
			_, known := nullableFields[field]
			if head, isVar := r[0].Value.(ast.Var); ok && known && isVar && !ownInput(ast.NewTerm(r)) && head != "data" {
				owners = append(owners, r[:i+1])
			}
		}
		return false
	})
	return owners
}

// guarded reports a body in which something else rules null out: is_null of the
// owner, or a condition that holds only where a field of it is there.
func guarded(body ast.Body, self *ast.Expr, owner ast.Ref) bool {
	return slices.ContainsFunc(body, func(x *ast.Expr) bool {
		if x == self {
			return false
		}
		found := false
		calls(x, func(c call) {
			found = found || c.name == "is_null" && refOf(c.args[0]).Equal(owner)
		})
		if !found && !negated(x) && !(x.IsCall() && x.Operator().String() == "neq") {
			ast.WalkRefs(x, func(r ast.Ref) bool {
				found = found || r.HasPrefix(owner) && len(r) > len(owner)
				return false
			})
		}
		return found
	})
}
