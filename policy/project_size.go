package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// Bounds of what the policies of one project say, those of all its folders
// together. They are looked at before anything is compiled: rules that rest on
// each other can grow a value, and the type the compiler gives it, at every step.
const (
	maxProjectRules = 200
	maxProjectBody  = 40      // expressions of one rule
	maxProjectExprs = 2000    // of all rules
	maxProjectChain = 8       // rules that rest on one another
	maxProjectValue = 5000    // parts of one value
	maxProjectParts = 100_000 // of all values
)

// projectSize adds up what the policies of one project say.
type projectSize struct {
	rules, exprs, parts int

	input schemaNode     // of the package that is measured
	known map[string]int // parts of what is named of it
}

// ruleGroup is all rules of one name in one package: one value, or one function.
type ruleGroup struct {
	name  string
	rules []*ast.Rule // else branches are rules of their own
	uses  map[string]bool
	depth int // groups it rests on, itself included; 0 = not known, -1 = being counted
	value int // parts of its value at most
}

// add counts one folder's modules and refuses what is beyond a bound.
func (z *projectSize) add(modules map[string]*ast.Module) (errs ast.Errors) {
	packages := map[string]map[string]*ruleGroup{}
	for _, name := range sortedKeys(modules) {
		m := modules[name]
		groups := packages[packageName(m)]
		if groups == nil {
			groups = map[string]*ruleGroup{}
			packages[packageName(m)] = groups
		}
		for _, rule := range m.Rules {
			for ; rule != nil; rule = rule.Else {
				group(groups, rule)
				if err := z.count(rule); err != nil {
					return ast.Errors{err}
				}
			}
		}
	}
	for _, pkg := range sortedKeys(packages) {
		schema, err := schemaOfPackage(pkg)
		if err != nil {
			return ast.Errors{flaw(nil, "%s", err)}
		}
		z.input, z.known = schema, map[string]int{}
		if errs := z.measure(packages[pkg]); len(errs) > 0 {
			return errs
		}
	}
	return nil
}

func group(groups map[string]*ruleGroup, rule *ast.Rule) {
	name := rule.Head.Ref()[0].Value.String()
	g := groups[name]
	if g == nil {
		g = &ruleGroup{name: name}
		groups[name] = g
	}
	g.rules = append(g.rules, rule)
}

// count looks at how many rules and expressions there are.
func (z *projectSize) count(rule *ast.Rule) *ast.Error {
	exprs := 0
	eachNode(rule, func(x any) {
		if _, ok := x.(*ast.Expr); ok {
			exprs++
		}
	})
	z.rules++
	z.exprs += exprs
	switch {
	case z.rules > maxProjectRules:
		return flaw(rule.Location, "a project's policies may have %d rules together", maxProjectRules)
	case exprs > maxProjectBody:
		return flaw(rule.Location, "%d expressions; a rule of a project may have %d", exprs, maxProjectBody)
	case z.exprs > maxProjectExprs:
		return flaw(rule.Location, "a project's policies may have %d expressions together", maxProjectExprs)
	}
	return nil
}

// eachNode visits a rule without its else branch, which is a rule of its own.
func eachNode(rule *ast.Rule, visit func(any)) {
	v := ast.NewGenericVisitor(func(x any) bool { visit(x); return false })
	for _, t := range headTerms(rule) {
		v.Walk(t)
	}
	v.Walk(rule.Head.Args)
	v.Walk(rule.Body)
}

// headTerms are the terms of a rule's head but its name and parameters.
func headTerms(rule *ast.Rule) []*ast.Term {
	all := append([]*ast.Term{}, rule.Head.Ref()[1:]...)
	for _, t := range []*ast.Term{rule.Head.Key, rule.Head.Value} {
		if t != nil {
			all = append(all, t)
		}
	}
	return all
}

// measure finds how far the rules of a package rest on one another and how large
// their values may become.
func (z *projectSize) measure(groups map[string]*ruleGroup) ast.Errors {
	for _, name := range sortedKeys(groups) {
		groups[name].find(groups)
	}
	for _, name := range sortedKeys(groups) {
		if err := z.settle(groups, groups[name]); err != nil {
			return ast.Errors{err}
		}
	}
	return nil
}

// find notes which rules are named. A variable of that name counts as well.
func (g *ruleGroup) find(groups map[string]*ruleGroup) {
	g.uses = map[string]bool{}
	for _, rule := range g.rules {
		eachNode(rule, func(x any) {
			if v, ok := x.(ast.Var); ok && groups[string(v)] != nil {
				g.uses[string(v)] = true
			}
		})
	}
}

// settle measures a group after those it rests on; there are no more steps down
// than a chain may have.
func (z *projectSize) settle(groups map[string]*ruleGroup, g *ruleGroup) *ast.Error {
	at := g.rules[0].Location
	switch {
	case g.depth > 0:
		return nil
	case g.depth < 0:
		return flaw(at, "rule %s rests on itself; give the variable or the rule another name", g.name)
	}
	g.depth = -1
	depth := 1
	for _, name := range sortedKeys(g.uses) {
		used := groups[name]
		if err := z.settle(groups, used); err != nil {
			return err
		}
		depth = max(depth, used.depth+1)
	}
	if depth > maxProjectChain {
		return flaw(at, "rule %s rests on a chain of more than %d rules, the most that a project may have", g.name, maxProjectChain)
	}
	if err := z.weigh(groups, g); err != nil {
		return err
	}
	g.depth = depth
	return nil
}
