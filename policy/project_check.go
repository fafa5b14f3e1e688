package policy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// projectBuiltins are the built-in functions of a project's policies: cheap, and
// their results are no larger than what they are given. A repository is not
// trusted with anything that can fill the memory.
const projectBuiltins = `
and any all contains count endswith eq equal glob.match gt gte indexof intersection internal.member_2 internal.member_3
is_array is_boolean is_null is_number is_object is_set is_string lower lt lte minus neq object.get or regex.match split
startswith substring trim trim_left trim_prefix trim_right trim_space trim_suffix union upper assign`

// projectPackages are the packages a project may add to, with the effects that
// count there.
var projectPackages = map[string][]string{
	permissionPackage: {"deny", "halt", "ask"},
	admissionPackage:  {"deny", "halt"},
}

// onlyTighten says why a decision of a project does not count.
const onlyTighten = "a project policy may only tighten"

// projectCapabilities returns what the compiler grants to a project's policies.
func projectCapabilities() *ast.Capabilities {
	allowed := strings.Fields(projectBuiltins)
	c := capabilities()
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool { return !slices.Contains(allowed, b.Name) })
	return c
}

// checkProject refuses what a repository's module may not do.
func checkProject(m *ast.Module) (errs ast.Errors) {
	if packageName(m) == redactionPackage {
		return ast.Errors{flaw(m.Package.Location, "package %s: a repository may not say what is covered, it could hide its doings; plans are of the organisation and the user", redactionPackage)}
	}
	effects, known := projectPackages[packageName(m)]
	if !known {
		return ast.Errors{flaw(m.Package.Location, "package %s: a project's policies live in %s and %s", packageName(m), permissionPackage, admissionPackage)}
	}
	for _, r := range m.Rules {
		object := decisionLiteral(r)
		if object == nil {
			continue
		}
		if effect := literalText(object, "effect"); effect != "" && !slices.Contains(effects, effect) {
			errs = append(errs, flaw(r.Location, "effect %q: %s; here %s count", effect, onlyTighten, strings.Join(effects, ", ")))
		}
		if object.Get(ast.StringTerm("context")) != nil {
			errs = append(errs, flaw(r.Location, "decision field \"context\": a project policy adds nothing to what the model knows"))
		}
	}
	return append(errs, checkProjectTerms(m)...)
}

// checkProjectTerms refuses `with` and data, which a project has none of.
func checkProjectTerms(m *ast.Module) (errs ast.Errors) {
	ast.NewGenericVisitor(func(x any) bool {
		if with, ok := x.(*ast.With); ok {
			errs = append(errs, flaw(with.Location, "a project policy may not use `with`"))
		}
		return false
	}).Walk(m)
	return append(errs, ownNames(m)...)
}

// ownNames refuses `data` in a project's module: there is none, and rules are
// named directly, which is how their values are counted.
func ownNames(m *ast.Module) (errs ast.Errors) {
	for _, i := range m.Imports {
		ref, ok := i.Path.Value.(ast.Ref)
		if ok && ref.Equal(pluginsRef) && i.Alias == "" {
			continue // helpers of ours, by their own names
		}
		if ok && ref[0].Equal(ast.DefaultRootDocument) {
			errs = append(errs, flaw(i.Location, "a project policy has no data and imports none but data."+pluginsPackage+"; name the rules of its package directly"))
		}
	}
	for _, rule := range m.Rules {
		ast.WalkVars(rule, func(v ast.Var) bool {
			if v.Equal(ast.DefaultRootDocument.Value) && len(errs) == 0 {
				errs = append(errs, flaw(rule.Location, "a project policy has no data; write the list into the rule, and name the rules of its package directly"))
			}
			return false
		})
	}
	return errs
}
