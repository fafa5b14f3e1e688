package policy

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// dataRef is where the data of a layer is.
var dataRef = ast.MustParseRef("data.cfg")

// checkData refuses what a compiled layer reads of data that is not there: it
// would be undefined for good.
func checkData(c *ast.Compiler, r rights) (errs ast.Errors) {
	data, err := plain(r.data)
	if err != nil {
		return ast.Errors{flaw(nil, "data of the policies: %s", err)}
	}
	for _, name := range sortedKeys(c.Modules) {
		m := c.Modules[name]
		ast.WalkTerms(m, func(t *ast.Term) bool {
			ref, ok := t.Value.(ast.Ref)
			if !ok || !ref.HasPrefix(ast.DefaultRootRef) {
				return false
			}
			if ref.HasPrefix(dataRef) {
				if _, missing := dataPath(data, ref); missing != "" && !r.noData {
					errs = append(errs, flaw(t.Location, "%s: %s; read what may be left out with object.get(data.cfg, \"name\", …)", ref, missing))
				}
			} else if !inPackages(c, ref) {
				errs = append(errs, flaw(t.Location, "%s: there is data.cfg, and no such rule", ref))
			}
			return false
		})
	}
	return errs
}

// dataPath follows the names of a reference into the data as far as they are
// known; missing says which is not there.
func dataPath(data map[string]any, ref ast.Ref) (value any, missing string) {
	value = data
	for i := len(dataRef); i < len(ref); i++ {
		object, ok := value.(map[string]any)
		step, constant := name(ref, i)
		if !ok || !constant {
			return value, ""
		}
		inner, ok := object[step]
		if !ok && len(object) == 0 {
			return nil, fmt.Sprintf("the data has no %q, nothing at all is there (policy.data)", step)
		}
		if !ok {
			return nil, fmt.Sprintf("the data has no %q, the nearest is %q", step, nearest(step, sortedKeys(object)))
		}
		value = inner
	}
	return value, ""
}

// inPackages reports whether a reference names a rule, or what holds rules.
func inPackages(c *ast.Compiler, ref ast.Ref) bool {
	node := c.RuleTree
	for i, step := range ref {
		if len(node.Values) > 0 {
			return true
		}
		if i > 0 {
			if _, constant := step.Value.(ast.String); !constant {
				return true
			}
		}
		if node = node.Child(step.Value); node == nil {
			return false
		}
	}
	return true
}

// closed reports whether a node's fields are listed, or those of its elements.
func (n schemaNode) closed() bool {
	for range maxVarPasses {
		if n == nil {
			return false
		}
		if n["properties"] != nil {
			return true
		}
		n = n.items()
	}
	return false
}

// mixers are functions whose result holds fields of what they are given, out of
// the type checker's sight.
var mixers = strings.Fields("object.union object.union_n json.patch")
