package policy

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A decision that is written out with something undefined in it is never made:
// a deny whose reason reads an argument that the model left out would be silence.
// So everything in it has to be there whatever the call is.

// maxHeadDepth bounds how far rules in a decision are followed.
const maxHeadDepth = 8

// heads looks through the decisions of one rule.
type heads struct {
	*linter
	module *ast.Module
	rules  knownRules
	data   map[string]any
	noData bool
	sure   []ast.Ref // what the body asks for, so that it is there
	depth  int
	known  map[*ast.Rule]bool // rules that were looked at, by whether they are defined
}

// checkHead refuses what may be undefined in a decision that a rule writes out.
// One that allows, or adds context, may be left unsaid.
func (h *heads) checkHead(rule *ast.Rule) ast.Errors {
	object := decisionLiteral(rule)
	if object == nil || packageName(h.module) == logPackage {
		return nil
	}
	switch literalText(object, "effect") {
	case "allow", "context":
		return nil
	}
	h.sure = positive(rule.Body, object)
	var errs ast.Errors
	object.Foreach(func(_, value *ast.Term) {
		if t := h.missing(value); t != nil {
			errs = append(errs, flaw(value.Location, "%s may be undefined, and then this decision is never made; ask for it in the body, read it with object.get(…, \"name\", \"\"), or give the rule a default", t))
		}
	})
	return errs
}

// positive lists what a body names in conditions that have to hold, but not in
// the decision itself.
func positive(body ast.Body, decision ast.Object) (all []ast.Ref) {
	for _, e := range body {
		if e.Negated || len(e.With) > 0 {
			continue
		}
		ast.NewGenericVisitor(func(x any) bool {
			switch x := x.(type) {
			case *ast.Every, *ast.Not, *ast.LogicalOr, *ast.LogicalAnd, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString:
				return true
			case ast.Object:
				return x == decision
			case ast.Ref:
				all = append(all, x)
			}
			return false
		}).Walk(e)
	}
	return all
}

// missing finds what of a term may be undefined; nil for nothing.
func (h *heads) missing(t *ast.Term) (found *ast.Term) {
	first := func(inner *ast.Term) {
		if found == nil {
			found = h.missing(inner)
		}
	}
	switch v := t.Value.(type) {
	case ast.Var:
		if !h.there(ast.Ref{t}) {
			return t
		}
	case ast.Ref:
		if !h.there(v) {
			return t
		}
	case *ast.Array:
		v.Foreach(first)
	case ast.Set:
		v.Foreach(first)
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) { first(key); first(value) })
	case ast.Call:
		for _, operand := range v[1:] {
			first(operand)
		}
		operator, _ := v[0].Value.(ast.Ref)
		if rules, rest := h.rules.named(h.module, operator); found == nil && rules != nil && !h.defined(rules, rest) {
			return t
		}
	}
	return found
}

// there reports whether a reference is defined whatever is decided.
func (h *heads) there(ref ast.Ref) bool {
	if slices.ContainsFunc(h.sure, func(known ast.Ref) bool { return known.HasPrefix(ref) }) {
		return true
	}
	ref, _ = h.consts.folded(ref)
	root, _ := ref[0].Value.(ast.Var)
	switch {
	case root.Equal(ast.InputRootDocument.Value):
		return h.vars.input.holds(ref[1:])
	case h.consts.local(root):
		return len(ref) == 1 || h.vars.nodes[root].holds(ref[1:])
	case ref.HasPrefix(dataRef):
		_, missing := dataPath(h.data, ref)
		return missing == "" || h.noData
	}
	rules, rest := h.rules.named(h.module, ref)
	if rules == nil {
		return len(ref) == 1 || h.vars.nodes[root].holds(ref[1:]) // a variable of the body
	}
	return h.defined(rules, rest)
}

// defined reports whether a rule or function has a value whatever happens.
func (h *heads) defined(rules []*ast.Rule, rest ast.Ref) bool {
	if len(rest) == 0 && slices.ContainsFunc(rules, func(r *ast.Rule) bool { return r.Default || r.Head.RuleKind() == ast.MultiValue }) {
		return true
	}
	if len(rules) != 1 || !unconditional(rules[0]) || rules[0].Head.Value == nil || h.depth >= maxHeadDepth {
		return false
	}
	if known, looked := h.known[rules[0]]; looked && len(rest) == 0 {
		return known
	}
	value := rules[0].Head.Value
	for _, step := range rest {
		object, ok := value.Value.(ast.Object)
		if !ok {
			return false
		}
		if value = object.Get(step); value == nil {
			return false
		}
	}
	inner := *h
	inner.depth++
	inner.sure = nil
	inner.linter = &linter{vars: newVarNodes(rules[0], h.vars.input), consts: newConstants(h.module, h.rules, rules[0])}
	whole := inner.missing(value) == nil
	if len(rest) == 0 {
		h.known[rules[0]] = whole
	}
	return whole
}

// holds reports whether every document has what lies below a node at a path.
func (n schemaNode) holds(path ast.Ref) bool {
	for _, step := range path {
		name, ok := step.Value.(ast.String)
		inner, known := n.field(string(name))
		if !ok || !known || inner == nil || n["type"] != "object" || !n.requires(string(name)) {
			return false
		}
		n = inner
	}
	return true
}

func (n schemaNode) requires(name string) bool {
	list, _ := n["required"].([]any)
	return slices.Contains(list, any(name))
}
