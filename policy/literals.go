package policy

import (
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// literalShape says what an object that a rule writes out may hold.
type literalShape struct {
	fields []string
	needs  []string
	words  map[string][]string      // strings that are one of a list
	below  map[string]*literalShape // objects, or lists of them
}

// decisionShape is the shape of a decision.
var decisionShape = &literalShape{
	fields: decisionFields, needs: []string{"effect", "rule"},
	words: map[string][]string{"effect": decisionWords, "severity": severities},
	below: map[string]*literalShape{
		"ask":         {fields: askFields, words: map[string][]string{"on_timeout": timeoutWords, "approver": {"human"}, "scope": permission.Scopes}},
		"ops":         {fields: opFields, needs: []string{"op", "path"}, words: map[string][]string{"op": opKinds}},
		"obligations": {fields: obligationFields, needs: []string{"kind"}, words: map[string][]string{"kind": permission.Obligations}},
		"cache":       {fields: cacheFields, needs: []string{"ttl_s"}},
	},
}

// maskShape is the shape of a mask of the decision log that is an object.
var maskShape = &literalShape{fields: maskFields, needs: []string{"op", "path"}, words: map[string][]string{"op": maskKinds}}

// check finds misspelt fields and words in an object that a rule writes out, so
// that they are errors at load. at names the object in messages.
func (s *literalShape) check(object ast.Object, loc *ast.Location, at string) (errs ast.Errors) {
	object.Foreach(func(k, v *ast.Term) {
		name, ok := k.Value.(ast.String)
		if !ok {
			return // a computed name is checked when it is decided
		}
		errs = append(errs, s.member(string(name), v, at)...)
	})
	for _, must := range s.needs {
		if object.Get(ast.StringTerm(must)) == nil && !computedNames(object) {
			errs = append(errs, flaw(loc, "%s without field %q", strings.TrimSuffix(at, " field"), must))
		}
	}
	return errs
}

func (s *literalShape) member(name string, v *ast.Term, at string) (errs ast.Errors) {
	if !slices.Contains(s.fields, name) {
		return ast.Errors{flaw(v.Location, "%s %q: unknown, the nearest is %q; want one of %s", at, name, nearest(name, s.fields), strings.Join(s.fields, ", "))}
	}
	if words, listed := s.words[name]; listed {
		if word, ok := v.Value.(ast.String); ok && !slices.Contains(words, string(word)) {
			errs = append(errs, flaw(v.Location, "%s %q: unknown, the nearest is %q; want one of %s", name, string(word), nearest(string(word), words), strings.Join(words, ", ")))
		}
	}
	if below := s.below[name]; below != nil {
		for _, object := range objectsOf(v) {
			errs = append(errs, below.check(object.Value.(ast.Object), object.Location, name+" field")...)
		}
	}
	return errs
}

// objectsOf returns the objects that a term writes out: itself, or the elements
// of a list.
func objectsOf(t *ast.Term) []*ast.Term {
	switch v := t.Value.(type) {
	case ast.Object:
		return []*ast.Term{t}
	case *ast.Array:
		var all []*ast.Term
		v.Foreach(func(item *ast.Term) {
			if _, ok := item.Value.(ast.Object); ok {
				all = append(all, item)
			}
		})
		return all
	}
	return nil
}

func computedNames(object ast.Object) bool {
	for _, k := range object.Keys() {
		if _, ok := k.Value.(ast.String); !ok {
			return true
		}
	}
	return false
}

// checkDecision looks at the decision a rule writes out beyond its shape.
func checkDecision(object ast.Object, loc *ast.Location) ast.Errors {
	errs := decisionShape.check(object, loc, "decision field")
	if t := object.Get(ast.StringTerm("rule")); t != nil {
		id, ok := t.Value.(ast.String)
		if ok && (len(id) > maxRuleName || !ruleName.MatchString(string(id))) {
			errs = append(errs, flaw(t.Location, "rule %q: want %s", string(id), ruleForm))
		}
		if ok && reservedRule(string(id)) {
			errs = append(errs, flaw(t.Location, "rule %q: %s", string(id), ruleReserved))
		}
	}
	effect := literalText(object, "effect")
	for _, own := range [][2]string{{"ops", "modify"}, {"ask", "ask"}} {
		field, of := own[0], own[1]
		if effect != "" && effect != of && object.Get(ast.StringTerm(field)) != nil {
			errs = append(errs, flaw(loc, "decision field %q belongs to effect %q, not to %q", field, of, effect))
		}
	}
	loud := slices.Contains([]string{"halt", "deny", "ask", "modify"}, effect)
	if loud && object.Get(ast.StringTerm("reason")) == nil && !computedNames(object) {
		errs = append(errs, flaw(loc, "effect %s needs a reason", effect))
	}
	if t := object.Get(ast.StringTerm("obligations")); t != nil {
		for _, one := range objectsOf(t) {
			errs = append(errs, checkRunPlugin(one)...)
		}
	}
	return errs
}

// The obligation that a plugin sees the output of a call.
const (
	runPlugin    = "run_plugin"
	pluginNeeded = "obligation run_plugin needs args.name, a text: the plugin that has to see the output"
)

// checkRunPlugin refuses an obligation written out that names no plugin.
func checkRunPlugin(obligation *ast.Term) ast.Errors {
	object := obligation.Value.(ast.Object)
	if literalText(object, "kind") != runPlugin || computedNames(object) {
		return nil
	}
	if t := object.Get(ast.StringTerm("args")); t != nil {
		args, ok := t.Value.(ast.Object)
		if !ok && !writtenOut(t) || ok && computedNames(args) {
			return nil // it is checked when it is decided
		}
		if ok {
			if name := args.Get(ast.StringTerm("name")); name != nil {
				if text, isText := name.Value.(ast.String); isText && text != "" || !isText && !writtenOut(name) {
					return nil
				}
			}
		}
	}
	return ast.Errors{flaw(obligation.Location, pluginNeeded)}
}

// checkIDs refuses one rule id with two effects in a layer: a record that names
// it would not say what was decided.
func checkIDs(modules map[string]*ast.Module) (errs ast.Errors) {
	first := map[string]RuleInfo{}
	for _, name := range sortedKeys(modules) {
		for _, r := range rulesOf(modules[name]) {
			known, taken := first[r.ID]
			switch {
			case r.Effect == "":
			case !taken:
				first[r.ID] = r
			case known.Effect != r.Effect:
				errs = append(errs, flaw(&ast.Location{File: r.File, Row: r.Line, Col: 1},
					"rule %q: effect %q here and %q at %s:%d; give one of them another id", r.ID, r.Effect, known.Effect, known.File, known.Line))
			}
		}
	}
	return errs
}
