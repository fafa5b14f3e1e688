package policy

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// inputReads are the fields of their input that rules look at, as "field" or
// "field.field"; "*" stands for all of it. Deeper fields are not told apart.
type inputReads map[string]bool

// readsOf looks through every compiled rule of a layer.
func readsOf(c *ast.Compiler) inputReads {
	reads := inputReads{}
	c.RuleTree.DepthFirst(func(n *ast.TreeNode) bool {
		for _, rule := range n.Values {
			reads.look(rule)
		}
		return false
	})
	return reads
}

func (r inputReads) look(node any) {
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case ast.Ref:
			return r.ref(x)
		case ast.Var:
			if x.Equal(ast.InputRootDocument.Value) {
				r["*"] = true
			}
		}
		return false
	}).Walk(node)
}

// ref notes a reference and reports whether it was one to the input.
func (r inputReads) ref(ref ast.Ref) bool {
	if !ref[0].Equal(ast.InputRootDocument) {
		return false
	}
	for _, operand := range ref[1:] {
		if _, name := operand.Value.(ast.String); !name {
			r.look(operand)
		}
	}
	first, ok := name(ref, 1)
	if !ok {
		r["*"] = true
		return true
	}
	if second, ok := name(ref, 2); ok {
		r[first+"."+second] = true
	} else {
		r[first] = true
	}
	return true
}

func name(ref ast.Ref, at int) (string, bool) {
	if at >= len(ref) {
		return "", false
	}
	s, ok := ref[at].Value.(ast.String)
	return string(s), ok
}

// whole reports whether rules look at field as a whole, or at any of it that is
// not told apart.
func (r inputReads) whole(field string) bool { return r["*"] || r[field] }

// some reports whether rules look at field.inner.
func (r inputReads) some(field, inner string) bool { return r.whole(field) || r[field+"."+inner] }

// within reports whether rules look at anything below field.
func (r inputReads) within(field string) bool {
	for name := range r {
		if strings.HasPrefix(name, field+".") {
			return true
		}
	}
	return false
}
