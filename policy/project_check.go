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
	data := ast.Ref{ast.DefaultRootDocument, ast.StringTerm("cfg")}
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.With:
			errs = append(errs, flaw(x.Location, "a project policy may not use `with`"))
		case *ast.Term:
			if ref, ok := x.Value.(ast.Ref); ok && ref.HasPrefix(data) {
				errs = append(errs, flaw(x.Location, "a project policy has no data; write the list into the rule"))
			}
		}
		return false
	}).Walk(m)
	return errs
}
