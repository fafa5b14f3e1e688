package author

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// decision is one rule that adds to a set of decisions.
type decision struct {
	module *ast.Module
	rule   *ast.Rule
	object ast.Object // as written out; nil when it is computed
}

// collect takes every rule of m that adds to decisions, or to a plan, and those that add a
// decision to a set of another name, from which decisions are taken.
func (l *linter) collect(m *ast.Module) {
	for _, r := range m.Rules {
		if r.Head.Key == nil || len(r.Head.Args) > 0 {
			continue
		}
		d := decision{m, r, l.writtenOut(m, r)}
		if d.final() && !takes(r) || (d.has("effect") || d.edits() && d.has("action")) && d.has("rule") {
			l.decisions = append(l.decisions, d)
		}
	}
}

// takes reports a rule that only hands on the decisions of another set.
func takes(r *ast.Rule) bool {
	key, ok := r.Head.Key.Value.(ast.Var)
	return ok && slices.ContainsFunc(r.Body, func(x *ast.Expr) bool {
		some, ok := x.Terms.(*ast.SomeDecl)
		if !ok {
			return false
		}
		in, ok := some.Symbols[0].Value.(ast.Call)
		if !ok || len(in) < 3 || in[len(in)-2].Value.Compare(key) != 0 {
			return false
		}
		_, name := in[len(in)-1].Value.(ast.Var)
		return name || refOf(in[len(in)-1]) != nil
	})
}

// writtenOut finds the decision's object in the head, or under the name that the
// head gives: in the body, or as a rule of its own.
func (l *linter) writtenOut(m *ast.Module, r *ast.Rule) ast.Object {
	switch key := r.Head.Key.Value.(type) {
	case ast.Object:
		return key
	case ast.Var:
		for _, x := range r.Body {
			if !x.IsAssignment() && !x.IsEquality() {
				continue
			}
			if name, ok := x.Operand(0).Value.(ast.Var); ok && name == key {
				object, _ := x.Operand(1).Value.(ast.Object)
				return object
			}
		}
		for _, constant := range l.named(m, key) {
			if object, ok := constant.Head.Value.Value.(ast.Object); ok {
				return object
			}
		}
	}
	return nil
}

// final reports a rule of the set that is asked.
func (d decision) final() bool {
	set := ast.Var("decisions")
	if d.edits() {
		set = "plan"
	}
	return d.rule.Head.Ref()[0].Value.Compare(set) == 0
}

// edits reports a rule of a redaction plan: it adds edits, which have an action
// where decisions have an effect.
func (d decision) edits() bool { return packageName(d.module) == "gatehouse.redaction" }

// word is the effect, or the action of an edit.
func (d decision) word() string {
	if d.edits() {
		return d.text("action")
	}
	return d.text("effect")
}

// text is a field of the decision that is written out, else "".
func (d decision) text(field string) string {
	if d.object == nil {
		return ""
	}
	if t := d.object.Get(ast.StringTerm(field)); t != nil {
		s, _ := t.Value.(ast.String)
		return string(s)
	}
	return ""
}

// has reports a field, computed or not.
func (d decision) has(field string) bool {
	return d.object != nil && d.object.Get(ast.StringTerm(field)) != nil
}
