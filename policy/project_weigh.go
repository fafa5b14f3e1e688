package policy

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxWeighPasses bounds how far sizes are followed within one rule.
const maxWeighPasses = 64

// weigher tells how many parts values of one rule may have: those that are
// written out and those of the rules and variables that are named, every time
// they are named. It errs upwards only.
type weigher struct {
	groups map[string]*ruleGroup
	input  schemaNode
	known  map[string]int // parts of what is named of the input
	vars   map[ast.Var]int
	err    *ast.Error
	grew   bool
}

// weigh measures the value of a group and counts what its rules say.
func (z *projectSize) weigh(groups map[string]*ruleGroup, g *ruleGroup) *ast.Error {
	for _, rule := range g.rules {
		w := &weigher{groups: groups, input: z.input, known: z.known, vars: map[ast.Var]int{}}
		w.follow(rule)
		value := 1
		for _, t := range headTerms(rule) {
			value = capped(value + w.size(t))
		}
		g.value = capped(g.value + value)
		z.parts += value
		eachNode(rule, func(x any) {
			if e, ok := x.(*ast.Expr); ok {
				z.parts += w.said(e)
			}
		})
		switch {
		case w.err != nil:
			return w.err
		case value > maxProjectValue:
			return flaw(rule.Location, "rule %s: its value may have more than %d parts, counted every time they are named", g.name, maxProjectValue)
		case z.parts > maxProjectParts:
			return flaw(rule.Location, "a project's policies may have %d parts of values together, counted every time they are named", maxProjectParts)
		}
	}
	return nil
}

// follow passes sizes from variable to variable until none grows.
func (w *weigher) follow(rule *ast.Rule) {
	for range maxWeighPasses {
		w.grew = false
		if eachNode(rule, w.bind); !w.grew || w.err != nil {
			return
		}
	}
	w.refuse(rule.Location, "too many variables rest on one another; split the rule")
}

// capped keeps sums from running over.
func capped(n int) int { return min(n, maxProjectValue+1) }

// said is how much one expression names, none of it beyond the bound of a value.
func (w *weigher) said(e *ast.Expr) (n int) {
	var terms []*ast.Term
	switch t := e.Terms.(type) {
	case *ast.Term:
		terms = []*ast.Term{t}
	case []*ast.Term:
		terms = e.Operands()
	case *ast.Every:
		terms = []*ast.Term{t.Domain}
	case *ast.SomeDecl:
		terms = t.Symbols
	}
	if e.IsCall() {
		if f := w.groups[e.Operator().String()]; f != nil {
			terms = []*ast.Term{ast.CallTerm(e.Terms.([]*ast.Term)...)}
		}
	}
	for _, t := range terms {
		size := w.size(t)
		if size > maxProjectValue {
			w.refuse(e.Location, fmt.Sprintf("a value here may have more than %d parts, the most that a project may have, counted every time they are named", maxProjectValue))
		}
		n += size
	}
	return n
}

// size is how many parts a term may have.
func (w *weigher) size(t *ast.Term) int {
	n := 1
	add := func(inner *ast.Term) { n = capped(n + w.size(inner)) }
	switch v := t.Value.(type) {
	case ast.Var:
		return w.named(v)
	case ast.Ref:
		if v[0].Equal(ast.InputRootDocument) {
			return w.ofInput(v)
		}
		return w.size(v[0])
	case *ast.Array:
		v.Foreach(add)
	case ast.Set:
		for _, item := range v.Slice() {
			add(item)
		}
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) { add(key); add(value) })
	case *ast.ArrayComprehension:
		add(v.Term)
	case *ast.SetComprehension:
		add(v.Term)
	case *ast.ObjectComprehension:
		add(v.Key)
		add(v.Value)
	case ast.Call:
		for _, operand := range v[1:] {
			add(operand)
		}
		if f := w.groups[v[0].String()]; f != nil {
			n = capped(n * max(f.value-1, 1)) // each of its parts may be a parameter
		}
	}
	return n
}

func (w *weigher) named(v ast.Var) int {
	if v.Equal(ast.InputRootDocument.Value) {
		return w.ofInput(ast.InputRootRef)
	}
	n := max(w.vars[v], 1)
	if g := w.groups[string(v)]; g != nil {
		n = max(n, g.value)
	}
	return n
}

// ofInput counts what the schema has there: it is what the compiler's type holds.
func (w *weigher) ofInput(ref ast.Ref) int {
	key := ref.String()
	n, ok := w.known[key]
	if !ok {
		n = 1
		(&varNodes{input: w.input}).resolve(ref).each(func(string, schemaNode) { n++ })
		w.known[key] = n
	}
	return capped(n)
}
