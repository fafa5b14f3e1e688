package policy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// comparisons are the operators that compare two terms.
var comparisons = []string{"equal", "eq", "neq", "assign"}

func (l *linter) call(operator string, args []*ast.Term, at *ast.Location) {
	switch {
	case slices.Contains(comparisons, operator) && len(args) == 2:
		l.compare(args[0], []*ast.Term{l.consts.of(args[1])})
		l.compare(args[1], []*ast.Term{l.consts.of(args[0])})
	case operator == "internal.member_2" && len(args) == 2:
		l.compare(args[0], writtenIn(l.consts.of(args[1])))
		l.contains(args[1], l.consts.of(args[0]))
	case operator == "walk" && len(args) == 2:
		if found := writtenIn(args[1]); len(found) == 2 {
			l.path(args[0], l.consts.of(found[0]), true, at)
		}
	case slices.Contains(mixers, operator):
		l.mixed(operator, args, at)
	case strings.HasPrefix(operator, "object.") && len(args) > 1:
		l.path(args[0], args[1], operator == "object.get", at)
	case (operator == "json.filter" || operator == "json.remove") && len(args) > 1:
		for _, p := range writtenIn(args[1]) {
			l.path(args[0], splitPath(p), true, at)
		}
	}
}

// mixed refuses what would hide fields of input from the type checker.
func (l *linter) mixed(operator string, args []*ast.Term, at *ast.Location) {
	for _, arg := range args {
		for _, t := range append(writtenIn(arg), arg) {
			if ref, ok := refOf(t); ok && l.vars.resolve(ref).closed() {
				l.errs = append(l.errs, flaw(at, "%s: fields of what %s returns could not be checked; read them from %s itself", ref, operator, ref))
			}
		}
	}
}

// writtenIn lists what a collection writes out.
func writtenIn(t *ast.Term) (all []*ast.Term) {
	switch v := t.Value.(type) {
	case ast.Set:
		v.Foreach(func(item *ast.Term) { all = append(all, item) })
	case *ast.Array:
		v.Foreach(func(item *ast.Term) { all = append(all, item) })
	}
	return all
}

// compare refuses words that an enumerated field never holds.
func (l *linter) compare(field *ast.Term, with []*ast.Term) {
	ref, ok := refOf(field)
	if !ok {
		return
	}
	allowed := l.vars.resolve(ref).enum()
	if root, ok := ref[0].Value.(ast.Var); ok && l.vars.opaque[root] && len(ref) > 1 {
		if name, ok := ref[len(ref)-1].Value.(ast.String); ok {
			allowed = l.names[string(name)]
		}
	}
	l.oneOf(ref, allowed, with)
}

// contains refuses a word that a list of enumerated words never holds.
func (l *linter) contains(list, word *ast.Term) {
	if ref, ok := refOf(list); ok {
		node := l.vars.resolve(ref)
		l.oneOf(ref, append(node.items().enum(), node.enum()...), []*ast.Term{word})
	}
}

func (l *linter) oneOf(ref ast.Ref, allowed []string, with []*ast.Term) {
	for _, t := range with {
		word, ok := t.Value.(ast.String)
		if ok && len(allowed) > 0 && !slices.Contains(allowed, string(word)) {
			told := slices.DeleteFunc(slices.Clone(allowed), func(w string) bool { return w == "" })
			l.errs = append(l.errs, flaw(t.Location, "%s is never %q, the nearest is %q; it is one of %s", ref, string(word), nearest(string(word), allowed), strings.Join(told, ", ")))
		}
	}
}

// path refuses a look at a field of input that no document has. Keys are a name,
// a path of names, or, where the function takes many, a collection of names.
func (l *linter) path(object, keys *ast.Term, asPath bool, at *ast.Location) {
	ref, ok := refOf(object)
	if !ok {
		return
	}
	node := l.vars.resolve(ref)
	if _, name := keys.Value.(ast.String); name {
		l.step(node, keys, at)
		return
	}
	for _, key := range writtenIn(keys) {
		next := l.step(node, key, at)
		if asPath {
			node = next
		}
	}
}

// step goes one name deeper; nil is where nothing is known.
func (l *linter) step(node schemaNode, key *ast.Term, at *ast.Location) schemaNode {
	name, ok := key.Value.(ast.String)
	if !ok {
		return node.items()
	}
	inner, known := node.field(string(name))
	if known && inner == nil {
		l.errs = append(l.errs, flaw(at, "no field %q there, the nearest is %q", string(name), nearest(string(name), node.names())))
	}
	return inner
}

// splitPath makes a list of a path written as a/b.
func splitPath(t *ast.Term) *ast.Term {
	s, ok := t.Value.(ast.String)
	if !ok {
		return t
	}
	var parts []*ast.Term
	for part := range strings.SplitSeq(strings.TrimPrefix(string(s), "/"), "/") {
		parts = append(parts, ast.StringTerm(part))
	}
	return ast.ArrayTerm(parts...)
}
