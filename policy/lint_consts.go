package policy

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// knownRules are the rules of all modules of a layer by full name, as
// gatehouse.permission.decisions.
type knownRules map[string][]*ast.Rule

func rulesByName(modules map[string]*ast.Module) knownRules {
	all := knownRules{}
	for _, file := range sortedKeys(modules) {
		m := modules[file]
		for _, rule := range m.Rules {
			name := packageName(m) + "." + rule.Head.Ref()[0].Value.String()
			all[name] = append(all[name], rule)
		}
	}
	return all
}

// named returns the rules that a reference names, and what of it goes into their
// value. Names are those of the package, of an import, or whole.
func (k knownRules) named(m *ast.Module, ref ast.Ref) ([]*ast.Rule, ast.Ref) {
	if len(ref) == 0 {
		return nil, nil
	}
	root, ok := ref[0].Value.(ast.Var)
	if !ok {
		return nil, nil
	}
	if rules := k[packageName(m)+"."+string(root)]; rules != nil {
		return rules, ref[1:]
	}
	for _, i := range m.Imports {
		path, ok := i.Path.Value.(ast.Ref)
		if ok && path.HasPrefix(ast.DefaultRootRef) && i.Name().Equal(root) {
			ref = append(path[:len(path):len(path)], ref[1:]...)
		}
	}
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return nil, nil
	}
	var full []string
	for i := 1; i < len(ref); i++ {
		part, ok := name(ref, i)
		if !ok {
			break
		}
		full = append(full, part)
		if rules := k[strings.Join(full, ".")]; rules != nil {
			return rules, ref[i+1:]
		}
	}
	return nil, nil
}

// constants are what names stand for within one rule: variables that are given a
// constant once, and rules that are one.
type constants struct {
	module *ast.Module
	rules  knownRules
	locals map[ast.Var]*ast.Term // nil: bound in the rule, to something else
}

func newConstants(m *ast.Module, rules knownRules, rule *ast.Rule) *constants {
	c := &constants{module: m, rules: rules, locals: map[ast.Var]*ast.Term{}}
	c.bind(nil, rule.Head.Args...)
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Rule:
			return x != rule
		case *ast.Expr:
			c.assign(x)
		case *ast.Every:
			c.bind(nil, x.Key, x.Value)
		case *ast.SomeDecl:
			for _, symbol := range x.Symbols {
				if call, ok := symbol.Value.(ast.Call); ok {
					c.bind(nil, call[1:len(call)-1]...) // what is in the last one
				} else {
					c.bind(nil, symbol)
				}
			}
		}
		return false
	}).Walk(rule)
	return c
}

func (c *constants) assign(e *ast.Expr) {
	if !e.IsAssignment() || len(e.Operands()) != 2 {
		return
	}
	value := e.Operand(1)
	if _, single := e.Operand(0).Value.(ast.Var); !single || !writtenOut(value) {
		value = nil
	}
	c.bind(value, e.Operand(0))
}

// bind notes the variables of patterns. One that is bound twice is no constant.
func (c *constants) bind(value *ast.Term, patterns ...*ast.Term) {
	for _, t := range patterns {
		if t == nil {
			continue
		}
		ast.WalkVars(t, func(v ast.Var) bool {
			if _, taken := c.locals[v]; taken {
				c.locals[v] = nil
			} else {
				c.locals[v] = value
			}
			return false
		})
	}
}

// writtenOut reports whether a term is written out to the last part.
func writtenOut(t *ast.Term) bool {
	whole := true
	ast.WalkTerms(t, func(inner *ast.Term) bool {
		switch inner.Value.(type) {
		case ast.Null, ast.Boolean, ast.Number, ast.String, *ast.Array, ast.Set, ast.Object:
		default:
			whole = false
		}
		return !whole
	})
	return whole
}

// local reports whether the rule itself binds a name.
func (c *constants) local(v ast.Var) bool {
	_, bound := c.locals[v]
	return bound
}

// of returns the constant that a term stands for, and the term itself where it
// is none.
func (c *constants) of(t *ast.Term) *ast.Term {
	ref, ok := refOf(t)
	if !ok {
		return t
	}
	if v, ok := t.Value.(ast.Var); ok && c.local(v) {
		if value := c.locals[v]; value != nil {
			return value
		}
		return t
	}
	if root, ok := ref[0].Value.(ast.Var); ok && c.local(root) {
		return t
	}
	rules, rest := c.rules.named(c.module, ref)
	if len(rules) != 1 || len(rest) > 0 || !unconditional(rules[0]) || len(rules[0].Head.Args) > 0 {
		return t
	}
	if value := rules[0].Head.Value; value != nil && rules[0].Head.RuleKind() == ast.SingleValue && writtenOut(value) {
		return value
	}
	return t
}

// unconditional reports whether a rule has no body but the one that the parser
// gives it, and no parameters but plain names.
func unconditional(rule *ast.Rule) bool {
	for _, arg := range rule.Head.Args {
		if _, plain := arg.Value.(ast.Var); !plain {
			return false
		}
	}
	return rule.Else == nil && len(rule.Head.Ref()) == 1 && len(rule.Body) == 1 && rule.Body[0].Equal(ast.NewExpr(ast.BooleanTerm(true)))
}

// folded returns a reference with the constants that its parts stand for.
func (c *constants) folded(ref ast.Ref) (_ ast.Ref, changed bool) {
	out := ref.Copy()
	for i := 1; i < len(out); i++ {
		if value := c.of(out[i]); value != out[i] {
			out[i], changed = value, true
		}
	}
	return out, changed
}
