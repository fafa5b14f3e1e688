package policy

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// minAdvice is the shortest text that can tell a model what to do instead.
const minAdvice = 30

// TestEveryRefusalAdvises looks at each decision the built-in rules spell out:
// a deny or ask about a call has a text for the model, and an id means one
// effect.
func TestEveryRefusalAdvises(t *testing.T) {
	effects := map[string]string{}
	for name, m := range builtinModules(t) {
		if strings.HasSuffix(name, "_test.rego") {
			continue
		}
		calls := packageName(m) == permissionPackage
		ast.WalkTerms(m, func(term *ast.Term) bool {
			object, ok := term.Value.(ast.Object)
			if !ok || object.Get(ast.StringTerm("effect")) == nil || object.Get(ast.StringTerm("rule")) == nil {
				return false
			}
			effect, rule := literal(object, "effect"), literal(object, "rule")
			if seen, twice := effects[rule]; twice && seen != effect {
				t.Errorf("%s: rule %s has effect %s here and %s elsewhere", term.Location, rule, effect, seen)
			}
			effects[rule] = effect
			if calls && (effect == "deny" || effect == "ask") && !advises(object) {
				t.Errorf("%s: rule %s has no agent_message that says what would be allowed", term.Location, rule)
			}
			return false
		})
	}
	if len(effects) < 50 {
		t.Errorf("%d rules found, want at least 50", len(effects))
	}
}

func literal(object ast.Object, key string) string {
	s, _ := object.Get(ast.StringTerm(key)).Value.(ast.String)
	return string(s)
}

// advises reports a text written out, or one that is made of facts.
func advises(object ast.Object) bool {
	message := object.Get(ast.StringTerm("agent_message"))
	if message == nil {
		return false
	}
	text, fixed := message.Value.(ast.String)
	return !fixed || len(text) >= minAdvice
}
