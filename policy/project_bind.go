package policy

import "github.com/open-policy-agent/opa/v1/ast"

// bind gives variables the size of what they stand for.
func (w *weigher) bind(x any) {
	switch x := x.(type) {
	case *ast.Expr:
		w.expr(x)
	case *ast.Every:
		w.give(x.Key, w.size(x.Domain))
		w.give(x.Value, w.size(x.Domain))
	case *ast.SomeDecl:
		for _, symbol := range x.Symbols {
			if call, ok := symbol.Value.(ast.Call); ok {
				last := len(call) - 1
				for _, t := range call[1:last] {
					w.give(t, w.size(call[last]))
				}
			}
		}
	case ast.Ref:
		for _, t := range x[1:] {
			w.give(t, w.size(x[0]))
		}
	}
}

func (w *weigher) expr(e *ast.Expr) {
	if !e.IsCall() {
		return
	}
	operands := e.Operands()
	switch {
	case e.IsAssignment() && len(operands) == 2:
		w.give(operands[0], w.size(operands[1]))
	case e.IsEquality() && len(operands) == 2:
		a, b := operands[0], operands[1]
		if eitherWay(a, b) || eitherWay(b, a) {
			w.refuse(e.Location, "a project policy takes values apart with := and compares them with ==")
			return
		}
		w.give(a, w.size(b))
		w.give(b, w.size(a))
	case len(operands) > w.parameters(e.Operator()):
		w.refuse(e.Location, "a project policy takes a function's result with x := f(y)")
	}
}

// parameters is how many operands a function takes.
func (w *weigher) parameters(operator ast.Ref) int {
	if f := w.groups[operator.String()]; f != nil {
		return len(f.rules[0].Head.Args)
	}
	if b := ast.BuiltinMap[operator.String()]; b != nil {
		return len(b.Decl.FuncArgs().Args)
	}
	if n, ok := libraryParameters[operator.String()]; ok {
		return n
	}
	return maxProjectBody // the compiler knows it no more than we do
}

// eitherWay reports whether both sides of = could give each other variables
// through a collection, so that nobody could tell which way.
func eitherWay(a, b *ast.Term) bool {
	_, variable := b.Value.(ast.Var)
	return collection(a) && holdsVars(a) && (variable || collection(b) && holdsVars(b))
}

func collection(t *ast.Term) bool {
	switch t.Value.(type) {
	case *ast.Array, ast.Set, ast.Object:
		return true
	}
	return false
}

func holdsVars(t *ast.Term) (found bool) {
	ast.WalkVars(t, func(ast.Var) bool { found = true; return true })
	return found
}

// give lets every variable of a pattern have up to n parts.
func (w *weigher) give(pattern *ast.Term, n int) {
	if pattern == nil {
		return
	}
	switch pattern.Value.(type) {
	case ast.Var, *ast.Array, ast.Set, ast.Object:
	default:
		return
	}
	ast.WalkVars(pattern, func(v ast.Var) bool {
		if n > max(w.vars[v], 1) {
			w.vars[v], w.grew = n, true
		}
		return false
	})
}

func (w *weigher) refuse(at *ast.Location, text string) {
	if w.err == nil {
		w.err = flaw(at, "%s", text)
	}
}
