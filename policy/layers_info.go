package policy

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// LayerInfo describes one layer of a [Set].
type LayerInfo struct {
	Name     string // "builtin", "org" or "user"; project layers belong to folders
	Revision string
	Files    []string   // modules that decide, tests left out
	Rules    []RuleInfo // of the decisions that are written out, in the order of files and lines
}

// RuleInfo is one rule id and where it is written.
type RuleInfo struct {
	ID     string
	File   string
	Line   int
	Effect string // empty when it is computed
}

// Layers describes the layers in the order they are asked.
func (s *Set) Layers() []LayerInfo {
	all := make([]LayerInfo, 0, len(s.layers))
	for _, l := range s.layers {
		info := LayerInfo{Name: l.name, Revision: l.revision, Rules: slices.Clone(l.located())}
		for _, src := range l.sources {
			info.Files = append(info.Files, src.name)
		}
		all = append(all, info)
	}
	return all
}

// where finds the first rule head that writes out a rule id.
func (l *layer) where(id string) RuleInfo {
	for _, r := range l.located() {
		if r.ID == id {
			return r
		}
	}
	return RuleInfo{}
}

// located lists the rules; the built-in ones are parsed when first asked for,
// because a start reads them compiled.
func (l *layer) located() []RuleInfo {
	l.rulesOnce.Do(func() {
		caps := capabilities()
		for _, src := range l.sources {
			m, err := parse(src, caps)
			if err != nil || m == nil {
				continue // it was parsed before
			}
			l.rules = append(l.rules, rulesOf(m)...)
		}
	})
	return l.rules
}

// rulesOf lists the decisions that a module writes out.
func rulesOf(m *ast.Module) []RuleInfo {
	var all []RuleInfo
	for _, r := range m.Rules {
		object := decisionLiteral(r)
		if object == nil {
			continue
		}
		if id := literalText(object, "rule"); id != "" {
			all = append(all, RuleInfo{ID: id, File: r.Location.File, Line: r.Location.Row, Effect: literalText(object, "effect")})
		}
	}
	return all
}

// decisionLiteral returns the decision a rule writes out: in its head, or in its
// body under the name the head gives.
func decisionLiteral(r *ast.Rule) ast.Object {
	ref := r.Head.Ref()
	head, ok := ref[0].Value.(ast.Var)
	if !ok || r.Head.Key == nil {
		return nil
	}
	plan := head == "plan" && r.Module != nil && packageName(r.Module) == redactionPackage
	if head != "decisions" && head != "mask" && !plan {
		return nil
	}
	switch key := r.Head.Key.Value.(type) {
	case ast.Object:
		return key
	case ast.Var:
		return assigned(r.Body, key)
	}
	return nil
}

// assigned finds the object that a body gives a variable.
func assigned(body ast.Body, name ast.Var) ast.Object {
	for _, e := range body {
		if !e.IsAssignment() && !e.IsEquality() {
			continue
		}
		for i := range 2 {
			if v, ok := e.Operand(i).Value.(ast.Var); ok && v == name {
				if object, ok := e.Operand(1 - i).Value.(ast.Object); ok {
					return object
				}
			}
		}
	}
	return nil
}

func literalText(object ast.Object, name string) string {
	if t := object.Get(ast.StringTerm(name)); t != nil {
		s, _ := t.Value.(ast.String)
		return string(s)
	}
	return ""
}
