package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// fixedRules are the rules of a package whose value is written out: it holds
// whatever the input is, so no evaluation has to find it out.
func fixedRules(c *ast.Compiler, pkg ast.Ref) map[string]*ast.Term {
	fixed := map[string]*ast.Term{}
	node := c.RuleTree.Find(pkg)
	if node == nil {
		return fixed
	}
	for _, child := range node.Children {
		if name, ok := child.Key.(ast.String); ok && len(child.Values) == 1 && len(child.Children) == 0 && isFixed(child.Values[0]) {
			fixed[string(name)] = child.Values[0].Head.Value
		}
	}
	return fixed
}

// isFixed reports a complete rule without conditions that is a constant.
func isFixed(r *ast.Rule) bool {
	h := r.Head
	return !r.Default && r.Else == nil && len(h.Args) == 0 && h.Key == nil && h.Value != nil && h.RuleKind() == ast.SingleValue &&
		ast.IsConstant(h.Value.Value) && len(r.Body) == 1 && len(r.Body[0].With) == 0 && !r.Body[0].Negated && isTrue(r.Body[0])
}

func isTrue(e *ast.Expr) bool {
	t, ok := e.Terms.(*ast.Term)
	return ok && t.Equal(ast.InternedTerm(true))
}

// fixedValue is the value of a reference to such a rule.
func (q *query) fixedValue(ref ast.Ref) *ast.Term {
	if len(ref) != len(q.prefix)+1 {
		return nil
	}
	name, ok := ref[len(ref)-1].Value.(ast.String)
	if !ok {
		return nil
	}
	v := q.fixed[string(name)]
	if v == nil || !sameTerms(ref[:len(q.prefix)], q.prefix) {
		return nil
	}
	return v
}
