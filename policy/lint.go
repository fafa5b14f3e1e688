package policy

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The compiler's type checker knows the schema of input, but it does not follow
// a value into a function, into object.get or into an enumeration. A mistake
// there would be undefined for good, and a rule that waits for it would never
// speak. lint looks for those.

// toolArguments are fields of what the schemas leave open: the arguments of the
// CLI's own tools and its permission suggestions.
var toolArguments = strings.Fields(`
activeForm allowed_domains answers args bash_id behavior blocked_domains block cell_id cell_type command content
dangerouslyDisableSandbox description destination directories edit_mode edits file_path filter glob head_limit header id
isolation label limit mode model multiSelect multiline name new_source new_string notebook_path offset old_string options
output_mode pages path pattern plan prompt query question questions replace_all resume ruleContent rules run_in_background
shell_id skill status subagent_type task_id timeout todos toolName type url`)

// lint checks all modules of a layer.
func lint(modules map[string]*ast.Module, r rights) ast.Errors {
	vocabulary := words(modules, r.data)
	errs := checkIDs(modules)
	rules, known := rulesByName(modules), map[*ast.Rule]bool{}
	data, err := plain(r.data)
	if err != nil {
		return ast.Errors{flaw(nil, "data of the policies: %s", err)}
	}
	fields := map[string]map[string][]string{} // by package
	for _, name := range sortedKeys(modules) {
		m := modules[name]
		errs = append(errs, ownSchemas(m)...)
		schema, err := schemaOfPackage(packageName(m))
		if err != nil {
			return ast.Errors{flaw(m.Package.Location, "%s", err)}
		}
		names := fields[packageName(m)]
		if names == nil {
			names = fieldNames(schema)
			fields[packageName(m)] = names
		}
		for _, rule := range m.Rules {
			h := &heads{module: m, rules: rules, data: data, noData: r.noData, known: known}
			errs = append(errs, h.lintRule(rule, schema, names, vocabulary)...)
		}
		if r.project != nil {
			errs = append(errs, checkProject(m)...)
		}
	}
	return errs
}

// ownSchemas refuses schemas named by an author: they would take the place of
// those that check every field.
func ownSchemas(m *ast.Module) (errs ast.Errors) {
	for _, a := range m.Annotations {
		if len(a.Schemas) > 0 {
			errs = append(errs, flaw(a.Location, "METADATA names schemas; leave them out, every field of input is checked against policy/schema anyway"))
		}
	}
	return errs
}

// fieldNames lists every field of a schema with the words it may hold; nil words
// where any occurrence is free. Without a schema it is about all documents.
func fieldNames(schema schemaNode) map[string][]string {
	names, free := map[string][]string{}, map[string]bool{}
	note := func(name string, node schemaNode) {
		words := node.enum()
		if len(words) == 0 {
			free[name] = true
		}
		names[name] = append(names[name], words...)
	}
	if schema != nil {
		schema.each(note)
	} else if all, err := schemas(); err == nil {
		for _, kind := range schemaKinds {
			all[kind].each(note)
		}
	}
	for name := range free {
		names[name] = nil
	}
	return names
}

// words lists further names that a helper may read: members of objects the
// modules make themselves, of the data and of tools' arguments.
func words(modules map[string]*ast.Module, data map[string]any) map[string]bool {
	all := map[string]bool{}
	for _, name := range toolArguments {
		all[name] = true
	}
	wordsOfData(data, all)
	for _, m := range modules {
		ast.WalkTerms(m, func(t *ast.Term) bool {
			if object, ok := t.Value.(ast.Object); ok {
				for _, k := range object.Keys() {
					if name, ok := k.Value.(ast.String); ok {
						all[string(name)] = true
					}
				}
			}
			return false
		})
	}
	return all
}

func wordsOfData(value any, all map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			all[name] = true
			wordsOfData(inner, all)
		}
	case []any:
		for _, inner := range v {
			wordsOfData(inner, all)
		}
	case []map[string]any: // as TOML decodes lists of tables
		for _, inner := range v {
			wordsOfData(inner, all)
		}
	}
}

// lintRule checks a rule with its else branches.
func (h *heads) lintRule(rule *ast.Rule, schema schemaNode, names map[string][]string, vocabulary map[string]bool) (errs ast.Errors) {
	for ; rule != nil; rule = rule.Else {
		l := &linter{names: names, vocabulary: vocabulary, vars: newVarNodes(rule, schema), consts: newConstants(h.module, h.rules, rule)}
		ast.NewGenericVisitor(l.visit).Walk(rule)
		h.linter = l
		errs = append(append(errs, l.errs...), h.checkHead(rule)...)
	}
	return errs
}

type linter struct {
	names      map[string][]string
	vocabulary map[string]bool
	vars       *varNodes
	consts     *constants
	errs       ast.Errors
}

// visit looks at one node of a rule; the else branch is a rule of its own.
func (l *linter) visit(x any) bool {
	switch x := x.(type) {
	case *ast.Rule:
		if x != l.vars.rule {
			return true
		}
	case *ast.Expr:
		if x.IsCall() {
			l.call(x.Operator().String(), x.Operands(), x.Location)
		}
	case *ast.Term:
		switch v := x.Value.(type) {
		case ast.Call:
			l.call(v[0].String(), v[1:], x.Location)
		case ast.Ref:
			l.parameter(v, x.Location)
			l.constantField(v, x.Location)
			l.entryField(v, x.Location)
		}
	}
	return false
}

// constantField refuses a field that no document has where a name stands for it,
// which the compiler does not follow.
func (l *linter) constantField(ref ast.Ref, at *ast.Location) {
	folded, changed := l.consts.folded(ref)
	if !changed {
		return
	}
	node := l.vars.resolve(folded[:1])
	for i, key := range folded[1:] {
		if key == ref[i+1] {
			node = node.below(key)
			continue
		}
		node = l.step(node, key, at)
	}
}

// entryField refuses a field that no entry of an object with entries by name has,
// as the plugins, which the compiler does not follow.
func (l *linter) entryField(ref ast.Ref, at *ast.Location) {
	node := l.vars.resolve(ref[:1])
	entry := l.vars.isEntry(node)
	for _, key := range ref[1:] {
		if entry {
			node = l.step(node, key, at)
			continue
		}
		_, open := node["additionalProperties"].(map[string]any)
		node, entry = node.below(key), open
	}
}

// parameter refuses a field of a function's parameter that no document has.
func (l *linter) parameter(ref ast.Ref, at *ast.Location) {
	root, ok := ref[0].Value.(ast.Var)
	if !ok || !l.vars.opaque[root] {
		return
	}
	for _, operand := range ref[1:] {
		name, ok := operand.Value.(ast.String)
		_, known := l.names[string(name)]
		if !ok || known || l.vocabulary[string(name)] {
			continue
		}
		l.errs = append(l.errs, flaw(at, "%s: no document has a field %q, the nearest is %q; read what is no fact of input with object.get(%s, %q, …)",
			ref, string(name), nearest(string(name), sortedKeys(l.names)), root, string(name)))
		return
	}
}
