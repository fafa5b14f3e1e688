package policy

import (
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"
)

// varNodes says what the variables of one rule hold, as far as its text tells.
type varNodes struct {
	rule   *ast.Rule
	input  schemaNode
	nodes  map[ast.Var]schemaNode // nil: two meanings, so unknown
	opaque map[ast.Var]bool       // parameters of the function, and what is taken from them
}

// maxVarPasses bounds how far a value is followed from variable to variable.
const maxVarPasses = 8

func newVarNodes(rule *ast.Rule, input schemaNode) *varNodes {
	v := &varNodes{rule: rule, input: input, nodes: map[ast.Var]schemaNode{}, opaque: map[ast.Var]bool{}}
	for _, arg := range rule.Head.Args {
		ast.WalkVars(arg, func(name ast.Var) bool {
			v.opaque[name] = !name.IsWildcard()
			return false
		})
	}
	for range maxVarPasses {
		before := len(v.nodes) + len(v.opaque)
		ast.NewGenericVisitor(v.visit).Walk(rule)
		if len(v.nodes)+len(v.opaque) == before {
			break
		}
	}
	return v
}

func (v *varNodes) visit(x any) bool {
	switch x := x.(type) {
	case *ast.Rule:
		return x != v.rule
	case *ast.Expr:
		if (x.IsAssignment() || x.IsEquality()) && len(x.Operands()) == 2 {
			v.bind(x.Operand(0), x.Operand(1), false)
			v.bind(x.Operand(1), x.Operand(0), false)
		}
	case *ast.Every:
		v.bind(x.Value, x.Domain, true)
	case *ast.SomeDecl:
		for _, symbol := range x.Symbols {
			if call, ok := symbol.Value.(ast.Call); ok && len(call) > 2 {
				v.bind(call[len(call)-2], call[len(call)-1], true) // value in collection
			}
		}
	}
	return false
}

// bind notes that a variable holds a value, or an element of it.
func (v *varNodes) bind(variable, value *ast.Term, element bool) {
	name, ok := variable.Value.(ast.Var)
	if !ok {
		return
	}
	ref, ok := refOf(value)
	if !ok {
		return
	}
	if root, isVar := ref[0].Value.(ast.Var); isVar && v.opaque[root] {
		v.opaque[name] = true
	}
	node := v.resolve(ref)
	if element {
		node = node.items()
	}
	if node == nil {
		return
	}
	if known, taken := v.nodes[name]; taken && reflect.ValueOf(known).Pointer() != reflect.ValueOf(node).Pointer() {
		node = nil // the same name in two places
	}
	v.nodes[name] = node
}

// refOf returns the reference a term is; a variable is one of a single part.
func refOf(t *ast.Term) (ast.Ref, bool) {
	switch v := t.Value.(type) {
	case ast.Ref:
		return v, true
	case ast.Var:
		return ast.Ref{t}, true
	}
	return nil, false
}

// resolve follows a reference through the schema; nil is where it ends.
func (v *varNodes) resolve(ref ast.Ref) schemaNode {
	var node schemaNode
	switch root := ref[0].Value.(type) {
	case ast.Var:
		if node = v.nodes[root]; root.Equal(ast.InputRootDocument.Value) {
			node = v.input
		}
	default:
		return nil
	}
	for _, operand := range ref[1:] {
		node = node.below(operand)
	}
	return node
}

// isEntry reports the schema of an entry of one of the input's open objects.
func (v *varNodes) isEntry(node schemaNode) bool {
	if node == nil {
		return false
	}
	for _, name := range v.input.names() {
		field, _ := v.input.field(name)
		if open, _ := field["additionalProperties"].(map[string]any); open != nil && reflect.ValueOf(open).Pointer() == reflect.ValueOf(node).Pointer() {
			return true
		}
	}
	return false
}

// below goes one step of a reference deeper.
func (n schemaNode) below(operand *ast.Term) schemaNode {
	if name, ok := operand.Value.(ast.String); ok {
		node, _ := n.field(string(name))
		return node
	}
	return n.items()
}
